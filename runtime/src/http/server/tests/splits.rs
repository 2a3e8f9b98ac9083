//! However the bytes are split, the same requests come out.

use super::*;

/// All requests of a byte stream with their bodies, or the status of the fault that ended it.
async fn read_all(stream: Pieces) -> (Vec<(RequestHead, Vec<u8>)>, Option<u16>) {
    let mut conn = ServerConn::new(stream, limits());
    let mut seen = Vec::new();
    loop {
        let head = match conn.next_request().await {
            Ok(Some(head)) => head,
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error.status())),
        };
        match conn.read_body(1 << 16, &budget()).await {
            Ok(body) => seen.push((head, body.to_vec())),
            Err(error) => return (seen, Some(error.status())),
        }
        conn.start_response(200, &Headers::new(), BodyKind::None).unwrap();
        conn.finish().await.unwrap();
    }
}

#[derive(Debug, Clone)]
struct Sent {
    path: String,
    value: Vec<u8>,
    chunks: Option<Vec<Vec<u8>>>,
    body: Vec<u8>,
}

impl Sent {
    fn wire(&self) -> Vec<u8> {
        let mut out = format!("POST /{} HTTP/1.1\r\nHost: h\r\nX-V: ", self.path).into_bytes();
        out.extend_from_slice(&self.value);
        match &self.chunks {
            None => {
                out.extend_from_slice(format!("\r\nContent-Length: {}\r\n\r\n", self.body.len()).as_bytes());
                out.extend_from_slice(&self.body);
            }
            Some(chunks) => {
                out.extend_from_slice(b"\r\nTransfer-Encoding: chunked\r\n\r\n");
                chunks.iter().for_each(|chunk| write_chunk(&mut out, chunk));
                out.extend_from_slice(LAST_CHUNK);
            }
        }
        out
    }

    fn body(&self) -> Vec<u8> {
        self.chunks.as_ref().map_or_else(|| self.body.clone(), |chunks| chunks.concat())
    }
}

fn sent() -> impl Strategy<Value = Sent> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let value = prop::collection::vec(0x80u8..=0xff, 0..20);
    ("[a-z0-9%/?&=.]{0,20}", value, prop::option::of(prop::collection::vec(bytes(60), 0..5)), bytes(200))
        .prop_map(|(path, value, chunks, body)| Sent { path, value, chunks, body })
}

fn cut(wire: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut at: Vec<usize> = cuts.iter().map(|i| i.index(wire.len() + 1)).chain([0, wire.len()]).collect();
    at.sort_unstable();
    at.windows(2).map(|w| wire[w[0]..w[1]].to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_split_of_a_valid_stream_reads_the_same(
        requests in prop::collection::vec(sent(), 1..5),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let wire: Vec<u8> = requests.iter().flat_map(Sent::wire).collect();
        let (seen, fault) = smol::block_on(read_all(Pieces::new(cut(&wire, &cuts))));
        prop_assert_eq!(fault, None);
        prop_assert_eq!(seen.len(), requests.len());
        for ((head, body), sent) in seen.iter().zip(&requests) {
            prop_assert_eq!(&head.target[1..], &sent.path);
            prop_assert_eq!(head.headers.get("x-v"), Some(sent.value.as_slice()));
            prop_assert_eq!(body, &sent.body());
        }
    }

    #[test]
    fn any_split_of_any_stream_reads_the_same(
        mut wire in sent().prop_map(|s| s.wire()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"\r\n\0 :;,0a\xff".to_vec())), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        for (at, byte) in changes {
            let at = at.index(wire.len());
            wire[at] = byte;
        }
        let whole = smol::block_on(read_all(Pieces::new([wire.clone()])));
        let split = smol::block_on(read_all(Pieces::new(cut(&wire, &cuts))));
        prop_assert_eq!(whole, split);
    }
}
