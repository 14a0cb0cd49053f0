//! Tools that read files and databases: plain functions, run on a thread that may wait.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::foresight::{self, CallWrites, FilePreview, ToolNeed, WriteExtent};
use crate::{
    CallFuture, CallProspect, CallTarget, Effect, RunCall, Tool, ToolOutput, ToolSpec, schema,
};

/// Said when nobody waits for the result any more. Long work looks at it now and then.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets a [`StopFlag`] when the call is dropped.
struct OnDrop(StopFlag);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// What a plain function knows of its call.
#[derive(Debug, Default)]
pub(crate) struct BlockingJob {
    /// Names what the call leaves in the spool.
    pub(crate) name: String,
    /// The call's own id.
    pub(crate) call: String,
    /// The files it was judged to change; `None` where nobody judged.
    pub(crate) judged: Option<Vec<PathBuf>>,
    pub(crate) stop: StopFlag,
}

impl BlockingJob {
    /// Whether a change of this file was judged: what a path leads to may be swapped meanwhile.
    pub(crate) fn may_change(&self, path: &Path) -> bool {
        let judged = self.judged.as_ref();
        judged.is_none_or(|judged| judged.iter().any(|known| known == path))
    }
}

/// A tool that is a plain function over something shared.
pub(crate) struct BlockingTool<C, A> {
    pub(crate) spec: ToolSpec,
    pub(crate) with: Arc<C>,
    pub(crate) act: fn(&C, A, &BlockingJob) -> ToolOutput,
}

impl<C, A> Tool for BlockingTool<C, A>
where
    C: Send + Sync + 'static,
    A: DeserializeOwned + Send + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let arguments: A = match schema::read(call.arguments) {
                Ok(arguments) => arguments,
                Err(refused) => return refused,
            };
            let job = BlockingJob {
                name: format!("{}-{}", self.spec.name, call.id),
                call: call.id.to_owned(),
                judged: match call.writes {
                    CallWrites::Files { paths, .. } => Some(paths.clone()),
                    CallWrites::Nothing | CallWrites::Anything => None,
                },
                stop: StopFlag::default(),
            };
            let _guard = OnDrop(job.stop.clone());
            let (with, act) = (Arc::clone(&self.with), self.act);
            let work = tokio::task::spawn_blocking(move || act(&with, arguments, &job));
            work.await.unwrap_or_else(|error| {
                tracing::error!(tool = &*self.spec.name, %error, "a tool broke");
                ToolOutput::failed(format!(
                    "{} failed inside Chela. Try another way.",
                    self.spec.name
                ))
            })
        })
    }
}

/// Tells the files that a call names.
type NamesFiles<C, A> = fn(&C, &A) -> Vec<PathBuf>;

/// What a plain tool can tell of a call beforehand. What is left out follows from its spec.
pub(crate) struct CallForesight<C, A> {
    pub(crate) effect: Option<fn(&C, &A) -> Effect>,
    pub(crate) targets: Option<fn(&C, &A) -> Vec<CallTarget>>,
    /// The files it would write, and how far.
    pub(crate) writes: Option<(WriteExtent, NamesFiles<C, A>)>,
    pub(crate) preview: Option<fn(&C, &A) -> Vec<FilePreview>>,
    /// Besides what its sinks say.
    pub(crate) needs: &'static [ToolNeed],
}

impl<C, A> Default for CallForesight<C, A> {
    fn default() -> Self {
        Self {
            effect: None,
            targets: None,
            writes: None,
            preview: None,
            needs: &[],
        }
    }
}

/// A tool that can tell more of a call than its spec does.
pub(crate) struct ForeseeingTool<C, A> {
    pub(crate) tool: BlockingTool<C, A>,
    pub(crate) sight: CallForesight<C, A>,
}

impl<C, A> BlockingTool<C, A> {
    pub(crate) fn foreseeing(self, sight: CallForesight<C, A>) -> ForeseeingTool<C, A> {
        ForeseeingTool { tool: self, sight }
    }
}

impl<C, A: DeserializeOwned> ForeseeingTool<C, A> {
    /// What can be told of these arguments; `None` where they will be refused.
    fn told<T>(&self, ask: fn(&C, &A) -> T, arguments: &Map<String, Value>) -> Option<T> {
        let arguments = schema::read(arguments).ok()?;
        Some(ask(&self.tool.with, &arguments))
    }
}

impl<C, A> Tool for ForeseeingTool<C, A>
where
    C: Send + Sync + 'static,
    A: DeserializeOwned + Send + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.tool.spec
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> CallProspect {
        let told = self.sight.effect.and_then(|ask| self.told(ask, arguments));
        CallProspect::of(told.unwrap_or(self.tool.spec.effect))
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        match self.sight.targets {
            Some(ask) => self.told(ask, arguments).unwrap_or_default(),
            None => self.tool.targets(arguments),
        }
    }

    fn writes(&self, arguments: &Map<String, Value>) -> CallWrites {
        match self.sight.writes {
            Some((extent, ask)) => CallWrites::Files {
                paths: self.told(ask, arguments).unwrap_or_default(),
                extent,
            },
            None => foresight::writes_by_effect(self.prospect(arguments).effect),
        }
    }

    fn preview(&self, arguments: &Map<String, Value>) -> Vec<FilePreview> {
        let told = self.sight.preview.and_then(|ask| self.told(ask, arguments));
        told.unwrap_or_default()
    }

    fn keeps_changes(&self) -> bool {
        self.sight.writes.is_some()
    }

    fn needs(&self) -> Vec<ToolNeed> {
        let mut needs = self.tool.needs();
        for need in self.sight.needs {
            if !needs.contains(need) {
                needs.push(*need);
            }
        }
        needs
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        self.tool.run(call)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::HeadlessApprover;
    use crate::schema::ArgumentSchema;

    #[derive(serde::Deserialize)]
    struct Nothing {}

    struct Wait {
        began: Mutex<Sender<()>>,
        ended: Mutex<Sender<()>>,
    }

    fn wait(with: &Wait, _: Nothing, job: &BlockingJob) -> ToolOutput {
        with.began.lock().unwrap().send(()).unwrap();
        while !job.stop.is_set() {
            std::thread::yield_now();
        }
        with.ended.lock().unwrap().send(()).unwrap();
        ToolOutput::said("stopped")
    }

    #[test]
    fn dropping_a_call_stops_its_work() {
        let (began, has_begun): (_, Receiver<()>) = channel();
        let (ended, has_ended): (_, Receiver<()>) = channel();
        let tool = BlockingTool {
            spec: ToolSpec {
                name: "wait".into(),
                description: "".into(),
                parameters: ArgumentSchema::object().build().into(),
                effect: Effect::Read,
                sinks: [].into(),
            },
            with: Arc::new(Wait {
                began: Mutex::new(began),
                ended: Mutex::new(ended),
            }),
            act: wait,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let arguments: Map<String, Value> = Map::new();
            let mut running = tool.run(RunCall {
                id: "c1",
                arguments: &arguments,
                writes: &CallWrites::Anything,
                progress: &|_| {},
                approver: &HeadlessApprover,
                targets: &[],
                redirects: &crate::AnyRedirect,
                bound: None,
            });
            std::future::poll_fn(|context| {
                assert!(running.as_mut().poll(context).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
            has_begun.recv().unwrap();
            drop(running);
        });
        has_ended.recv().unwrap();
    }
}
