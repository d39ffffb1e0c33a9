//! A body that runs to its end on the runtime, also when its caller has left.
//!
//! Its caller waits for the permit, as every caller does. From then on body and permit belong to a task, and the caller
//! waits for that: what stops the caller does not stop the task. Neither does a deadline, which says how long a
//! *caller* has use for an answer; only the `timeout` of the function does.

use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tokio::task::{JoinError, JoinHandle};

use super::{Limit, Run, Running, Terms, reject};
use crate::admission::{Entry, Waited};
use crate::aftermath::Settling;
use crate::call::answer::{Answer, Ask};
use crate::call::attempt::{AttemptEnd, Polled, Start};
use crate::call::entering;
use crate::call::side::{Side, Watched};
use crate::error::BulkheadError;
use crate::frame::{self, Carried};
use crate::function::Function;
use crate::observer::Traced;
use crate::time::{self, Instant, Timer};

pin_project! {
    /// The caller's side of it.
    #[doc(hidden)]
    pub struct SettlingAttempt<F: Future> {
        stage: Stage<F>,
        #[pin]
        timer: Timer,
    }
}

/// | stage | owns | moves to |
/// |---|---|---|
/// | entering | the body, perhaps a place in the queue | settling, over |
/// | settling | a task, which owns the body and the permit | over |
/// | over | nothing | — |
enum Stage<F: Future> {
    Entering {
        // Before the entry: a body that never ran is gone before its place is free.
        body: F,
        side: Watched,
        entry: Entry<'static>,
    },
    Settling {
        task: JoinHandle<AttemptEnd<F::Output>>,
        began: Instant,
        waited: Option<Waited>,
    },
    Over,
}

impl<F: Future> SettlingAttempt<F> {
    pub(in crate::call) fn new(body: F) -> Self {
        Self {
            stage: Stage::Entering {
                body,
                side: Watched::default(),
                entry: Entry::default(),
            },
            timer: Timer::default(),
        }
    }
}

impl<F, J> Polled<F::Output, J> for SettlingAttempt<F>
where
    F: Future<Output: Send> + Send + 'static,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output> + Clone + Send + 'static,
{
    fn start(self: Pin<&mut Self>, start: Start) {
        if let Stage::Entering { side, .. } = self.project().stage {
            side.start(start);
        }
    }

    fn poll_attempt(
        mut self: Pin<&mut Self>,
        function: &'static Function,
        judge: &J,
        cx: &mut Context<'_>,
    ) -> Poll<AttemptEnd<F::Output>> {
        match ready!(self.as_mut().poll_entry(function, judge, cx)) {
            Ok(()) => self.poll_task(function, cx),
            Err(error) => Poll::Ready(AttemptEnd::Rejected(error)),
        }
    }
}

impl<F> SettlingAttempt<F>
where
    F: Future<Output: Send> + Send + 'static,
{
    /// Ready when it is in, and the task is there that settles.
    fn poll_entry<J>(
        self: Pin<&mut Self>,
        function: &'static Function,
        judge: &J,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), BulkheadError>>
    where
        J: Fn(Ask<'_, F::Output>) -> Answer<F::Output> + Clone + Send + 'static,
    {
        let this = self.project();
        let Stage::Entering { side, entry, .. } = this.stage else {
            return Poll::Ready(Ok(()));
        };
        let terms = Terms::of_function(function);
        let attempt = side.attempt();
        let may_queue = !attempt.is_retry();
        let entered = ready!(entering::poll(
            entry, side, &terms, None, may_queue, this.timer, cx
        ));
        let Stage::Entering { body, side, .. } = mem::replace(this.stage, Stage::Over) else {
            unreachable!("it entered in the lines above")
        };
        let passage = match entered {
            Ok(passage) => passage,
            Err(rejection) => {
                drop(body);
                let error = reject(terms.live, terms.origin, attempt, rejection);
                return Poll::Ready(Err(error));
            }
        };
        attempt.admitted(terms.live);
        let waited = passage.waited;
        let traced = Traced::begin(terms.origin, waited, attempt.number()).or_of_the_caller();
        let running = Running::begin(passage, traced, side.began(), true);
        let began = running.began.unwrap_or_else(time::now);
        let task = Task {
            run: Run::admitted_already(body, side, running),
            settling: terms.live.aftermath().begin_settling(function, began),
            terms,
            judge: judge.clone(),
            frame: Carried::current().without_deadline(),
        };
        *this.stage = Stage::Settling {
            task: tokio::spawn(task),
            began,
            waited,
        };
        Poll::Ready(Ok(()))
    }

    /// Waits for the task, and no longer than the deadline that holds here.
    fn poll_task(
        self: Pin<&mut Self>,
        function: &'static Function,
        cx: &mut Context<'_>,
    ) -> Poll<AttemptEnd<F::Output>> {
        let this = self.project();
        let Stage::Settling {
            task,
            began,
            waited,
        } = this.stage
        else {
            panic!("polled again after it had ended")
        };
        let (began, waited) = (*began, *waited);
        match Pin::new(task).poll(cx) {
            Poll::Ready(joined) => {
                *this.stage = Stage::Over;
                match joined.map_err(JoinError::try_into_panic) {
                    Ok(ended) => Poll::Ready(ended),
                    Err(Ok(panic)) => resume_unwind(panic),
                    Err(Err(_)) => panic!(
                        "the runtime shut down before `{}` had settled",
                        function.path()
                    ),
                }
            }
            Poll::Pending => {
                let Some(deadline) = frame::deadline() else {
                    return Poll::Pending;
                };
                ready!(this.timer.poll_until(deadline, cx));
                *this.stage = Stage::Over;
                frame::Ended::note_stopped(frame::setter());
                let origin = Terms::of_function(function).origin;
                let error = Limit::of_deadline(deadline, began).error(origin, waited);
                Poll::Ready(AttemptEnd::Late(error))
            }
        }
    }
}

impl<F: Future> fmt::Debug for SettlingAttempt<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettlingAttempt").finish_non_exhaustive()
    }
}

pin_project! {
    /// The task: a body with its permit. Dropped when the runtime shuts down, it is cancelled.
    struct Task<F: Future, J> {
        #[pin]
        run: Run<F, Watched>,
        settling: Settling,
        terms: Terms,
        judge: J,
        frame: Carried,
    }
}

impl<F, J> Future for Task<F, J>
where
    F: Future,
    J: Fn(Ask<'_, F::Output>) -> Answer<F::Output>,
{
    type Output = AttemptEnd<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let judge = &*this.judge;
        let (run, terms) = (this.run, *this.terms);
        let verdict = |returned: &F::Output| judge(Ask::Judge(returned)).verdict();
        let polled = this.frame.around(|| run.poll_judged(terms, verdict, cx));
        polled.map(AttemptEnd::of)
    }
}
