"""Calls the Responses API through the official SDK, for the black-box tests.

Standard input: a JSON list of {"stream": bool, "arguments": {...}}. Base URL and key: OPENAI_BASE_URL, OPENAI_API_KEY.
Standard output: one JSON object for each call, in order.
"""

import json
import sys

import openai


def text_of(response):
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    return "".join(part.text for part in parts if part.type == "output_text")


def answer_of(response, events):
    return {"status": response.status, "text": text_of(response), "id": response.id, "events": events}


def plain(client, arguments):
    return answer_of(client.responses.create(**arguments), [])


def streamed(client, arguments):
    events, text, response = [], "", None
    for event in client.responses.create(stream=True, **arguments):
        events.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
        response = getattr(event, "response", response)
    answer = answer_of(response, events)
    answer["text"] = text
    return answer


def main():
    client = openai.OpenAI(max_retries=0, timeout=60)
    for call in json.load(sys.stdin):
        try:
            answer = (streamed if call["stream"] else plain)(client, call["arguments"])
        except openai.OpenAIError as error:
            answer = {"error": type(error).__name__, "http_status": getattr(error, "status_code", None)}
        print(json.dumps(answer), flush=True)


main()
