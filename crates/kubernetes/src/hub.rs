//! Where watches, the runner and whoever acts in the cluster meet.

use crate::act;
use crate::books::{Asked, Books, Note};
use crate::gang::Identity;
use crate::pass::Todo;
use crate::say;
use crate::tracked::Act;
use evenhand_core::{JobId, LeaseId, Span, Time};
use evenhand_live::{Answer, Asker, Clock, Mail, Refusal, Request, Wish};
use kube::Client;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// Changes that come within this time are looked at together.
const TOGETHER: Duration = Duration::from_millis(20);
/// Everything is looked at so often, whether or not anything changed.
const AT_LEAST: Duration = Duration::from_secs(1);
/// A gang that was refused is tried again after this: nodes may have come.
const AGAIN: Span = Span::from_secs(15);

/// Requests to start or end pods that are on their way at a time.
const REQUESTS_MAX: usize = 32;

/// Who asks, in the list of who asked for what.
const ASKER: &str = "kubernetes";

/// Where everybody meets.
pub(crate) struct Hub {
    pub client: Client,
    pub clock: Clock,
    pub tell: Sender<Mail>,
    /// Something changed.
    pub news: Notify,
    /// There is something to say on pods.
    sayings: Notify,
    /// Whoever starts or ends pods holds one: a server that is asked everything at once answers nobody.
    pub requests: Semaphore,
    books: Mutex<Books>,
}

impl Hub {
    pub(crate) fn new(client: Client, scheduler: String, tell: Sender<Mail>) -> Arc<Self> {
        Arc::new(Self {
            client,
            clock: Clock::start(),
            tell,
            news: Notify::new(),
            sayings: Notify::new(),
            requests: Semaphore::new(REQUESTS_MAX),
            books: Mutex::new(Books { scheduler, ..Books::default() }),
        })
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("nobody panics while they hold the books")
    }

    /// Looks at everything whenever something changed, for ever.
    pub(crate) async fn drive(self: Arc<Self>) {
        loop {
            let began = self.clock.now();
            // It takes a while where there are thousands of pods, and others have to be heard meanwhile.
            let todo = tokio::task::block_in_place(|| self.books().pass(began));
            self.carry_out(todo);
            let took = Duration::from_millis(self.clock.now().since(began).0);
            // It ends early if there is news, and that is the point.
            let _ = tokio::time::timeout(AT_LEAST, self.news.notified()).await;
            // However much there is, others have the books half of the time.
            tokio::time::sleep(TOGETHER.max(took)).await;
        }
    }

    fn carry_out(self: &Arc<Self>, todo: Todo) {
        for mail in todo.mails {
            // The service may be leaving.
            let _ = self.tell.send(mail);
        }
        if todo.noted {
            self.sayings.notify_one();
        }
        for (identity, wish) in todo.wishes {
            self.submit(identity, wish);
        }
        for (lease, act) in todo.acts {
            let hub = self.clone();
            match act {
                Act::Bind(pods) => {
                    tokio::spawn(async move { act::bind(&hub, lease, pods).await });
                }
                Act::Remove(pod, grace) => {
                    tokio::spawn(async move { act::remove(&hub, &pod, grace).await });
                }
            }
        }
    }

    fn submit(self: &Arc<Self>, identity: Identity, wish: Wish) {
        let hub = self.clone();
        self.ask(wish, move |answer| hub.answered(identity, answer));
    }

    /// Asks the service for something.
    pub(crate) fn ask(&self, wish: Wish, reply: impl FnOnce(Result<Answer, Refusal>) + Send + 'static) {
        let asker = Asker { name: ASKER.to_owned(), tenant: None, user: None };
        // A request that is lost is answered all the same.
        let _ = self.tell.send(Mail::Asked(Request::new(wish, asker, reply)));
    }

    fn answered(&self, identity: Identity, answer: Result<Answer, Refusal>) {
        let mut books = self.books();
        let ended = |job: JobId| {
            let message = format!("job {} of this gang has ended: make it anew to run it again", job.0);
            (Asked::Ended(job), Note { reason: "Ended", message })
        };
        let (asked, note) = match answer {
            Ok(Answer::Job { created: false, job }) | Err(Refusal::KeyTaken(job))
                if !books.jobs.contains_key(&job) =>
            {
                ended(job)
            }
            Ok(_) => return,
            Err(refusal) => {
                // It may have been admitted before it could not be recorded.
                if let Some(job) = books.by_identity.remove(&identity) {
                    books.jobs.remove(&job);
                }
                let message = refusal.to_string();
                (Asked::Refused(self.clock.now() + AGAIN), Note { reason: "Refused", message })
            }
        };
        books.notes.insert(identity.clone(), note);
        books.asked.insert(identity, asked);
        self.sayings.notify_one();
    }

    /// Says on pods why they wait, for ever.
    pub(crate) async fn explain(self: Arc<Self>) {
        let mut asked = Time::ZERO;
        loop {
            // What is new is said soon, and what the service thinks of jobs now and then.
            if self.clock.now().since(asked) >= say::PAUSE {
                say::ask(&self).await;
                asked = self.clock.now();
            }
            say::say_all(&self).await;
            let pause = Duration::from_millis(say::PAUSE.0);
            // It ends early if there is something to say.
            let _ = tokio::time::timeout(pause, self.sayings.notified()).await;
        }
    }

    /// What became of binding the pods of a lease.
    pub(crate) fn bound(&self, lease: LeaseId, results: &[(crate::tracked::PodRef, crate::tracked::Bound)]) {
        if let Some(tracked) = self.books().leases.get_mut(&lease) {
            tracked.note_bound(results);
        }
        self.news.notify_one();
    }
}
