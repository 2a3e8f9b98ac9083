"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const panel = document.getElementById("state");
  const lanes = document.getElementById("lanes");
  const scroll = document.getElementById("scroll");
  let now = 0;

  // Every text goes in as text, never as markup.
  const make = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const seconds = (ms) => "+" + (ms / 1000) + " s";
  const account = (n) => {
    const cell = make("span", "a" + n, "tag acct-" + (((n - 1) % 6) + 1));
    return cell;
  };

  const table = (title, heads, rows, before, key) => {
    const box = document.createDocumentFragment();
    box.append(make("h3", title));
    if (rows.length === 0) {
      box.append(make("p", "none", "quiet"));
      return box;
    }
    const element = make("table");
    const head = make("tr");
    heads.forEach(([name]) => head.append(make("th", name)));
    element.append(head);
    const old = new Map((before || []).map((row) => [key(row), JSON.stringify(row)]));
    rows.forEach((row) => {
      const changed = before && old.get(key(row)) !== JSON.stringify(row);
      const line = make("tr", undefined, changed ? "changed" : "");
      heads.forEach(([, cell]) => {
        const td = make("td");
        td.append(cell(row));
        line.append(td);
      });
      element.append(line);
    });
    box.append(element);
    return box;
  };

  const home = (row) => {
    const cell = make("span");
    cell.append(account(row.account));
    if (row.pending !== undefined) cell.append(" → ", account(row.pending), " pending");
    return cell;
  };
  const bindings = [
    ["row", (r) => "row " + r.row], ["tenant", (r) => "t" + r.tenant], ["account", home],
    ["gen.", (r) => "g" + r.generation], ["state", (r) => r.state], ["keys", (r) => String(r.keys)],
    ["ends", (r) => seconds(r.ends_ms)],
  ];

  const facts = (state) => {
    const parts = ["clock " + seconds(state.time_ms)];
    const off = (name, ms) => (ms ? ", " + name + " off by " + ms / 1000 + " s" : "");
    state.processes.forEach((p) => parts.push(
      "p" + p.process + (p.up ? " up" : " DOWN") + off("clock", p.clock_ahead_ms) +
      (p.wall_ahead_ms !== p.clock_ahead_ms ? off("wall clock", p.wall_ahead_ms) : "")));
    parts.push("store " + state.store, "session policy " + (state.policy ? "on" : "off"));
    if (state.conversations) parts.push("conversation policy on");
    if (state.uncommitted > 0) parts.push(state.uncommitted + " batches not on disk");
    (state.adrift || []).forEach((what) => parts.push("adrift: " + what));
    return parts.join(" · ");
  };

  const show = (at) => {
    const step = data.steps[at];
    const before = at > 0 ? data.steps[at - 1].state : null;
    const then = (part) => (before ? before[part] : null);
    const state = step.state;
    panel.replaceChildren();
    panel.append(make("h2", "Step " + step.step + ": " + (step.action || (at === 0 ? "the beginning" : "observed"))));
    const nav = make("nav");
    [["◀ back", at - 1], ["next ▶", at + 1]].forEach(([name, to]) => {
      const button = make("button", name);
      button.type = "button";
      button.disabled = to < 0 || to >= data.steps.length;
      button.addEventListener("click", () => go(to, true));
      nav.append(button);
    });
    panel.append(nav, make("p", facts(state), "quiet"));
    if (data.broken && data.broken.at === at) {
      panel.append(make("p", "✗ " + data.broken.oracle + " breaks here: " + data.broken.text, "alert"));
    }
    panel.append(make("h3", "What happened"));
    const events = make("ul");
    step.events.forEach((event) => events.append(make("li", event.says)));
    panel.append(step.events.length ? events : make("p", "nothing", "quiet"));
    panel.append(table("Bindings", bindings, state.rows, then("rows"), (r) => r.row));
    panel.append(table("What a crash now would leave", bindings, state.durable, then("durable"), (r) => r.row));
    if (state.pins) {
      panel.append(make("h3", "Hard pins"));
      const pins = make("ul");
      state.pins.forEach((pin) => pins.append(make("li", pin)));
      panel.append(pins);
    }
    panel.append(table("Requests under way", [
      ["request", (t) => "r" + t.turn + " in p" + t.process], ["asked", (t) => t.asks],
      ["waits", (t) => t.waits], ["row it saw", (t) => t.saw || "none"],
    ], state.turns, then("turns"), (t) => t.turn));
    panel.append(table("Accounts", [
      ["account", (a) => account(a.account)], ["as p… sees it", (a) => "p" + a.process + ": " + a.standing],
      ["held against it", (a) => a.bars.join("; ") || "nothing"],
    ], state.accounts, then("accounts"), (a) => a.process + "/" + a.account));
    panel.append(make("h3", "What could happen next"));
    const next = data.steps[at + 1];
    const list = make("ul", undefined, "enabled");
    step.enabled.forEach((name, number) => {
      const taken = next && next.choice === number;
      list.append(make("li", number + " " + name, taken ? "taken" : ""));
    });
    panel.append(list);
    panel.scrollTop = 0;
  };

  const go = (to, move) => {
    now = Math.max(0, Math.min(data.steps.length - 1, to));
    document.querySelectorAll('.step[aria-selected="true"]').forEach((e) => e.setAttribute("aria-selected", "false"));
    const step = document.getElementById("step-" + now);
    step.setAttribute("aria-selected", "true");
    lanes.setAttribute("aria-activedescendant", step.id);
    if (move) {
      // Only a part of the scroller may be in the window.
      const box = step.getBBox();
      const top = scroll.getBoundingClientRect().top;
      const room = Math.min(scroll.clientHeight, window.innerHeight - Math.max(0, top)) - 60;
      if (box.y < scroll.scrollTop || box.y + box.height > scroll.scrollTop + room) {
        scroll.scrollTop = Math.max(0, box.y + box.height - Math.max(room - 40, box.height));
      }
    }
    try { history.replaceState(null, "", "#at=" + now); } catch (_) { /* a page from a file may not */ }
    show(now);
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-go]");
    const step = event.target.closest("[data-at]");
    if (link) {
      event.preventDefault();
      document.getElementById("run").scrollIntoView();
      go(Number(link.dataset.go), true);
      lanes.focus({ preventScroll: true });
    } else if (step) {
      go(Number(step.dataset.at), false);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("button, summary, a, #state")) return;
    const to = {
      ArrowDown: now + 1, j: now + 1, ArrowUp: now - 1, k: now - 1, Home: 0, End: data.steps.length - 1,
      v: data.broken ? data.broken.at : now,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to, true);
  });
  document.getElementById("copy").addEventListener("click", () => {
    const code = document.getElementById("command");
    getSelection().selectAllChildren(code);
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).catch(() => {});
  });

  const asked = /^#at=(\d+)$/.exec(location.hash);
  go(asked ? Number(asked[1]) : data.broken ? data.broken.at : 0, true);
})();
