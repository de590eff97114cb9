//! Agents outside: whatever they do, an auction is held in time, and what was wrong with a bid is in the ledger.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Abilities, AgentSeat, Answer, AppId, Backend, BackendError, BidError, Choice, Command, Event, GpuCount,
    LedgerWriter, Locality, ModelIndex, Note, Offer, Parameters, Part, RawBid, RawRow, Record, Round, Time,
};
use evenhand_sim::{Setup, World, engine_for};
use evenhand_tests::{Ends, Stage, replay_interrupted};
use std::collections::{BTreeMap, VecDeque};

/// How an agent answers an offer; `None` if it never does.
type Behaviour = Option<fn(&Offer) -> Answer>;

/// A world in which some apps have agents of their own.
struct Agents {
    world: World,
    by_app: BTreeMap<AppId, Behaviour>,
    /// Answers on their way.
    answers: VecDeque<(Time, Event)>,
    /// Whether they arrive when the auction is over.
    late: bool,
    /// Late answers that have arrived.
    arrived: VecDeque<(Time, Event)>,
}

impl Backend for Agents {
    fn abilities(&self) -> Abilities {
        Abilities { bids: true, ..self.world.abilities() }
    }
    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        let waiting = if self.late { &mut self.arrived } else { &mut self.answers };
        if let Some(answer) = waiting.pop_front() {
            return Ok(Some(answer));
        }
        let next = self.world.next()?;
        if let Some((now, Event::RoundDue(_))) = &next {
            self.arrived.extend(self.answers.drain(..).map(|(_, answer)| (*now, answer)));
        }
        Ok(next)
    }
    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        if let Command::AskForBids(invitation) = command {
            for app in &invitation.to {
                if let Some(answer) = self.by_app[app].map(|answer| answer(&invitation.offer)) {
                    self.answers.push_back((now, Event::Bid { app: *app, answer }));
                }
            }
        }
        self.world.execute(now, command)
    }
}

/// The first row, and one for a single GPU.
fn raw(round: Round, nothing: f64, one: f64) -> RawBid {
    let part = Part { model: ModelIndex(0), gang: GpuCount(1), gangs: 1, span: Locality::Node };
    let rows =
        vec![RawRow { parts: Vec::new(), rho: Some(nothing) }, RawRow { parts: vec![part], rho: Some(one) }];
    RawBid { version: evenhand_core::AGENT_VERSION, round, rows }
}

fn answer(bid: RawBid) -> Answer {
    bid.read().map_or_else(Answer::Refused, Answer::Table)
}

fn honest(offer: &Offer) -> Answer {
    answer(raw(offer.round, 4.0, 1.0))
}

fn not_a_number(offer: &Offer) -> Answer {
    answer(raw(offer.round, 4.0, f64::NAN))
}

fn negative(offer: &Offer) -> Answer {
    answer(raw(offer.round, 4.0, -1.0))
}

fn greedy(offer: &Offer) -> Answer {
    let mut bid = raw(offer.round, 4.0, 1.0);
    bid.rows[1].parts[0].gangs = 1000;
    answer(bid)
}

fn endless(offer: &Offer) -> Answer {
    let mut bid = raw(offer.round, 4.0, 1.0);
    bid.rows.resize(1_000_000, bid.rows[1].clone());
    answer(bid)
}

fn long_winded(offer: &Offer) -> Answer {
    let text = format!(r#"{{"version":1,"round":{},"rows":[{}]}}"#, offer.round.0, "{},".repeat(1_000_000));
    RawBid::decode(text.as_bytes()).map_or_else(Answer::Refused, Answer::Table)
}

fn babbling(_: &Offer) -> Answer {
    RawBid::decode(b"more GPUs, please").map_or_else(Answer::Refused, Answer::Table)
}

/// Ratios whose quotient is no number any more.
fn extreme(offer: &Offer) -> Answer {
    answer(raw(offer.round, 1e300, 1e-300))
}

/// Wants to be better off for nothing.
fn wishful(offer: &Offer) -> Answer {
    let mut bid = raw(offer.round, 4.0, 1.0);
    bid.rows[1].parts[0].gangs = 0;
    answer(bid)
}

fn absent_minded(offer: &Offer) -> Answer {
    answer(raw(Round(offer.round.0 - 1), 4.0, 1.0))
}

fn perverse(offer: &Offer) -> Answer {
    answer(raw(offer.round, 1.0, 4.0))
}

fn foreign(offer: &Offer) -> Answer {
    answer(RawBid { version: 9, ..raw(offer.round, 4.0, 1.0) })
}

/// One GPU for each of so many apps, all asked, agents as given; each has one job of ten minutes.
fn play(agents: &[Behaviour], gpus: u32) -> (Ends, Vec<Record>) {
    play_in(agents, gpus, false)
}

fn play_in(agents: &[Behaviour], gpus: u32, late: bool) -> (Ends, Vec<Record>) {
    let mut stage = Stage::new(&format!("v100={gpus}"), 1).tenant("ann");
    for _ in agents {
        stage = stage.app_with(|app| app.app.agent = AgentSeat::Outside).job(0, 1, 600);
    }
    let by_app = agents.iter().enumerate().map(|(app, behaviour)| (AppId(app as u64), *behaviour)).collect();
    let mut world =
        Agents { world: stage.world(), by_app, answers: VecDeque::new(), late, arrived: VecDeque::new() };
    let set = [("f", "0"), ("lease", "5m")];
    let parameters = Parameters(set.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    let setup = Setup {
        policy: Choice { name: "themis".into(), parameters },
        engine: stage.engine.clone(),
        ..Setup::default()
    };
    let header = setup.header(world.abilities(), "a world with agents");
    let (ends, records) = stage.play_in(&mut engine_for(&header).unwrap(), &mut world);
    let mut ledger = LedgerWriter::new(Vec::new(), &header).unwrap();
    for record in &records {
        ledger.write(record).unwrap();
    }
    let bytes = ledger.finish().unwrap();
    replay_interrupted(&bytes, 1);
    (ends, records)
}

fn refusals(records: &[Record], of: AppId) -> Vec<BidError> {
    let notes = records.iter().flat_map(|record| &record.notes);
    let refused = notes.filter_map(|note| match note {
        Note::BidRefused { app, reason } if *app == of => Some(*reason),
        _ => None,
    });
    refused.collect()
}

#[test]
fn an_honest_agent_wins_with_its_own_bid_and_an_answer_ends_the_waiting() {
    let (ends, records) = play(&[Some(honest)], 1);
    // Nobody is waited for once everybody has answered.
    assert_eq!(ends, [(0, 600.0)].into());
    assert!(refusals(&records, AppId(0)).is_empty());
    let bidder =
        records.iter().find_map(|record| record.decision.as_ref()?.auction.as_ref()).unwrap().bidders[0];
    // Its table counts; what it says of its own standing is put on the scale that is known here.
    assert!((bidder.best.get() / bidder.before.get() - 0.25).abs() < 1e-12, "{bidder:?}");
    assert!((bidder.before.get() - 1.5).abs() < 1e-12, "{bidder:?}");
}

#[test]
fn every_kind_of_bad_bid_is_refused_with_its_reason_and_the_round_completes() {
    let bad: [(Behaviour, BidError); 11] = [
        (None, BidError::Silent),
        (Some(not_a_number), BidError::NotANumber(1)),
        (Some(negative), BidError::NotPositive(1)),
        (Some(greedy), BidError::NotOffered(1)),
        (Some(endless), BidError::TooManyRows(1_000_000)),
        (Some(long_winded), BidError::TooLong(3_000_033)),
        (Some(babbling), BidError::Unreadable),
        (Some(absent_minded), BidError::Stale(Round(0))),
        (Some(perverse), BidError::WorseThanNothing(1)),
        (Some(wishful), BidError::Empty(1)),
        (Some(foreign), BidError::Version(9)),
    ];
    for (behaviour, reason) in bad {
        // The honest app beside it is served at once; the bad one when it is alone and GPUs are lent.
        let (ends, records) = play(&[Some(honest), behaviour], 1);
        let found = refusals(&records, AppId(1));
        let same = |error: &BidError| std::mem::discriminant(error) == std::mem::discriminant(&reason);
        assert!(!found.is_empty() && found.iter().all(same), "{found:?} instead of {reason:?}");
        assert_eq!(found[0], reason);
        assert!(ends[&0] <= 600.0 + 3.0, "an honest app was held up: {ends:?}");
        assert!(ends.contains_key(&1), "an app with a bad agent never ran");
        let waited = records.iter().filter(|record| matches!(record.event, Event::Bid { .. })).count();
        assert!(waited > 0 || reason == BidError::Silent);
    }
}

/// Such a bid can be read, and must not break the arithmetic of everybody else.
#[test]
fn a_bid_of_extreme_ratios_breaks_no_round() {
    let (ends, records) = play(&[Some(honest), Some(extreme)], 1);
    assert_eq!(ends.len(), 2);
    let failed = |note: &Note| matches!(note, Note::PolicyFailed(_) | Note::PlanRefused(_));
    assert!(!records.iter().flat_map(|record| &record.notes).any(failed), "a bid broke a decision");
}

#[test]
fn a_late_answer_counts_as_none() {
    let (ends, records) = play_in(&[Some(honest), Some(honest)], 2, true);
    let refused = refusals(&records, AppId(0));
    assert_eq!(refused[..2], [BidError::Silent, BidError::NotAsked]);
    // Both are lent a GPU when the time to answer is over.
    assert_eq!(ends, [(0, 601.0), (1, 601.0)].into());
}
