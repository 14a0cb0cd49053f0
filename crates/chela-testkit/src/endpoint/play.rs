//! Puts an answer on the socket, faults and all.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::choose::ChosenAnswer;
use crate::http::{self, HttpConnection, HttpRequest};
use crate::model_call::{AnswerDelivery, CallFormat};
use crate::script::{AnswerBody, AnswerFault, ScriptStep};
use crate::wire::{self, StreamFrame, WireAnswer};

/// What may come after an answer.
pub enum AfterAnswer {
    Request,
    Nothing,
}

pub async fn play(
    connection: &mut HttpConnection,
    chosen: &ChosenAnswer,
    request: &HttpRequest,
) -> io::Result<AfterAnswer> {
    let step = &chosen.step;
    pause(step.delay_ms).await;
    let mut out = Out {
        stream: &mut connection.stream,
        left: match step.fault {
            Some(
                AnswerFault::Cut(bytes) | AnswerFault::Reset(bytes) | AnswerFault::Stall(bytes),
            ) => Some(bytes),
            _ => None,
        },
        write: step.write,
        chunked: true,
    };
    match &chosen.answer {
        Some((asked, answer)) if asked.delivery == AnswerDelivery::Stream => {
            let kind = wire::stream_type(asked.format);
            out.head(
                step,
                200,
                &[("content-type", kind), ("transfer-encoding", "chunked")],
            )
            .await?;
            stream(&mut out, step, asked.format, answer).await?;
        }
        Some((asked, answer)) => {
            let body = AnswerBody::Json(answer.whole(asked.format));
            plain(&mut out, step, Some(&body)).await?;
        }
        None => plain(&mut out, step, step.body.as_ref()).await?,
    }
    match step.fault {
        Some(AnswerFault::Reset(_)) => {
            connection.stream.set_zero_linger()?;
            Ok(AfterAnswer::Nothing)
        }
        Some(AnswerFault::Cut(_)) => Ok(AfterAnswer::Nothing),
        Some(AnswerFault::Stall(_)) => {
            // Until the other side has had enough.
            let mut rest = [0; 1024];
            while connection.stream.read(&mut rest).await? > 0 {}
            Ok(AfterAnswer::Nothing)
        }
        _ => {
            if request.header("connection") == Some("close") {
                return Ok(AfterAnswer::Nothing);
            }
            Ok(AfterAnswer::Request)
        }
    }
}

/// Status, headers and a body of known length.
async fn plain(out: &mut Out<'_>, step: &ScriptStep, body: Option<&AnswerBody>) -> io::Result<()> {
    let (kind, bytes) = match body {
        None => ("text/plain", String::new()),
        Some(AnswerBody::Text(text)) => ("text/plain; charset=utf-8", text.clone()),
        Some(AnswerBody::Json(value)) => ("application/json", value.to_string()),
    };
    let status = step.status.unwrap_or(200);
    if matches!(
        step.fault,
        Some(AnswerFault::Endless | AnswerFault::EndlessLine)
    ) {
        out.head(
            step,
            status,
            &[("content-type", kind), ("transfer-encoding", "chunked")],
        )
        .await?;
        let block = if bytes.is_empty() { "x" } else { &bytes };
        let block = block.repeat(65_536_usize.div_ceil(block.len()));
        loop {
            out.send(block.as_bytes()).await?;
        }
    }
    let length = bytes.len().to_string();
    out.chunked = false;
    out.head(
        step,
        status,
        &[("content-type", kind), ("content-length", &length)],
    )
    .await?;
    out.send(bytes.as_bytes()).await
}

/// A stream of frames, with what goes wrong in it.
async fn stream(
    out: &mut Out<'_>,
    step: &ScriptStep,
    format: CallFormat,
    answer: &WireAnswer,
) -> io::Result<()> {
    let frames = answer.frames(format);
    let half = frames.len() / 2;
    for (at, frame) in frames.iter().enumerate() {
        if at == half {
            match &step.fault {
                Some(AnswerFault::Error { kind, message }) => {
                    let error = wire::error_frame(format, kind, message);
                    out.send(error.bytes(step.line).as_bytes()).await?;
                    break;
                }
                Some(AnswerFault::Garbage(bytes)) => out.send(bytes.as_bytes()).await?,
                Some(AnswerFault::EndlessLine) => endless_line(out, format).await?,
                Some(AnswerFault::Endless) => loop {
                    pause(step.piece_ms).await;
                    out.send(frame.bytes(step.line).as_bytes()).await?;
                },
                _ => {}
            }
        }
        if step.ping {
            out.send(StreamFrame::ping(format, step.line).as_bytes())
                .await?;
        }
        out.send(frame.bytes(step.line).as_bytes()).await?;
        pause(step.piece_ms).await;
    }
    out.end().await
}

async fn endless_line(out: &mut Out<'_>, format: CallFormat) -> io::Result<()> {
    let begin = match format {
        CallFormat::Ollama => "{\"message\":{\"content\":\"",
        _ => "data: {\"delta\":\"",
    };
    out.send(begin.as_bytes()).await?;
    let block = "x".repeat(65_536);
    loop {
        out.send(block.as_bytes()).await?;
    }
}

/// The way to the socket: knows after how many bytes of the body it breaks.
struct Out<'a> {
    stream: &'a mut TcpStream,
    left: Option<usize>,
    /// Bytes of one write.
    write: Option<usize>,
    chunked: bool,
}

impl Out<'_> {
    /// The step's own headers replace those of the same name.
    async fn head(
        &mut self,
        step: &ScriptStep,
        status: u16,
        own: &[(&str, &str)],
    ) -> io::Result<()> {
        let given = step
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let is_given = |name: &str| {
            step.headers
                .keys()
                .any(|known| known.eq_ignore_ascii_case(name))
        };
        let kept = own.iter().copied().filter(|(name, _)| !is_given(name));
        let head = http::head(status, kept.chain(given));
        self.stream.write_all(head.as_bytes()).await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let bytes = match &mut self.left {
            Some(left) => {
                let now = bytes.len().min(*left);
                *left -= now;
                &bytes[..now]
            }
            None => bytes,
        };
        for part in bytes.chunks(self.write.unwrap_or(usize::MAX)) {
            if self.chunked {
                // One write per chunk: readers see the same pieces that were sent.
                let mut framed = format!("{:x}\r\n", part.len()).into_bytes();
                framed.extend_from_slice(part);
                framed.extend_from_slice(b"\r\n");
                self.stream.write_all(&framed).await?;
            } else {
                self.stream.write_all(part).await?;
            }
        }
        Ok(())
    }

    /// The end of a chunked body; a broken one has none.
    async fn end(&mut self) -> io::Result<()> {
        match self.left {
            None => self.stream.write_all(b"0\r\n\r\n").await,
            Some(_) => Ok(()),
        }
    }
}

async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}
