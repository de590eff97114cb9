//! The cheapest assignment of jobs to (machine, position from the end), with identical machines merged.
//!
//! ```text
//! minimise  sum_i c(i, s(i)) ,   c(i, (v, q)) = q * p_iv + d_v
//! at most count_v jobs in each slot (v, q) ;  v = a group of count_v identical machines, q = 1, 2, ..
//! ```
//!
//! Successive shortest augmenting paths with potentials (the Hungarian method with capacities on columns), in
//! integers. A slot (v, q + 1) is opened when (v, q) is full: it costs every job more, so it is never used before.
//! A path looks at most once at every unit and slot, so n units and S slots cost O(n^2 S) at worst; S is about
//! groups times the length of the longest queue, far below the n positions on every machine of the plain method.

/// Identical machines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// How many.
    pub count: u32,
    /// Milliseconds until they come free.
    pub delay: u64,
}

/// A job that takes this many machines of one kind: one row per group, milliseconds on it; `None` = cannot run.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub units: u32,
    pub times: Vec<Option<u64>>,
}

/// Where one unit of a job goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Which group.
    pub group: usize,
    /// Position from the end, from 1.
    pub from_end: u32,
}

const NEVER: i64 = i64::MAX / 4;

/// Costs beyond this many milliseconds are all alike, so that sums stay exact.
const TIME_MAX: u64 = 1 << 44;

struct Matching<'a> {
    groups: &'a [Group],
    rows: &'a [Row],
    slots: Vec<Slot>,
    /// Who is in each slot, a job once for each of its units there.
    seated: Vec<Vec<usize>>,
    /// The dual of each slot's capacity: zero while there is room, never positive.
    price: Vec<i64>,
}

/// The slots of every job, one for each unit; a job that can run nowhere has none.
pub(super) fn cheapest(groups: &[Group], rows: &[Row]) -> Vec<Vec<Slot>> {
    let (slots, seated, price) = (Vec::new(), Vec::new(), Vec::new());
    let mut matching = Matching { groups, rows, slots, seated, price };
    for group in (0..groups.len()).filter(|group| groups[*group].count > 0) {
        matching.open(Slot { group, from_end: 1 });
    }
    // The longest belong at the ends of queues: seated first, they are hardly ever moved again.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|job| (std::cmp::Reverse(rows[*job].times.iter().flatten().min()), *job));
    for job in order {
        for _ in 0..rows[job].units {
            matching.seat(job);
        }
    }
    let mut places = vec![Vec::new(); rows.len()];
    for (slot, jobs) in matching.slots.iter().zip(&matching.seated) {
        for job in jobs {
            places[*job].push(*slot);
        }
    }
    places
}

impl Matching<'_> {
    fn open(&mut self, slot: Slot) {
        self.slots.push(slot);
        self.seated.push(Vec::new());
        self.price.push(0);
    }

    fn cost(&self, job: usize, slot: usize) -> i64 {
        let Slot { group, from_end } = self.slots[slot];
        match self.rows[job].times[group] {
            None => NEVER,
            Some(time) => {
                let cost = u64::from(from_end).saturating_mul(time.min(TIME_MAX)) + self.groups[group].delay;
                cost.min(NEVER as u64 - 1) as i64
            }
        }
    }

    fn is_full(&self, slot: usize) -> bool {
        self.seated[slot].len() >= self.groups[self.slots[slot].group].count as usize
    }

    /// Seats one more unit of a job, moving others along the cheapest path to a slot with room.
    fn seat(&mut self, job: usize) {
        let count = self.slots.len();
        let reduced = |slot: usize| match self.cost(job, slot) {
            NEVER => NEVER,
            cost => cost - self.price[slot],
        };
        let mut far: Vec<i64> = (0..count).map(reduced).collect();
        // Who moves into a slot, and from which; the new unit comes from nowhere.
        let mut mover: Vec<(usize, Option<usize>)> = vec![(job, None); count];
        let mut settled = vec![false; count];
        let end = loop {
            let open = (0..count).filter(|slot| !settled[*slot] && far[*slot] < NEVER);
            let Some(nearest) = open.min_by_key(|slot| (far[*slot], *slot)) else { return };
            settled[nearest] = true;
            if !self.is_full(nearest) {
                break nearest;
            }
            self.look_on(nearest, &mut far, &mut mover, &settled);
        };
        for slot in (0..count).filter(|slot| settled[*slot]) {
            self.price[slot] += far[slot] - far[end];
        }
        self.shift(&mover, end);
        if self.is_full(end) {
            let Slot { group, from_end } = self.slots[end];
            self.open(Slot { group, from_end: from_end + 1 });
        }
    }

    /// Looks at the slots that the units in a full slot could move to.
    fn look_on(&self, from: usize, far: &mut [i64], mover: &mut [(usize, Option<usize>)], settled: &[bool]) {
        let mut last = None;
        for job in &self.seated[from] {
            // Units of one job stand side by side more often than not.
            if last.replace(*job) == Some(*job) {
                continue;
            }
            let here = self.cost(*job, from) - self.price[from];
            for to in (0..far.len()).filter(|to| !settled[*to]) {
                let cost = self.cost(*job, to);
                if cost == NEVER {
                    continue;
                }
                let through = far[from] + (cost - self.price[to]) - here;
                if through < far[to] {
                    far[to] = through;
                    mover[to] = (*job, Some(from));
                }
            }
        }
    }

    /// Moves everybody along the path that ends in a slot with room.
    fn shift(&mut self, mover: &[(usize, Option<usize>)], end: usize) {
        let mut to = end;
        loop {
            let (job, from) = mover[to];
            self.seated[to].push(job);
            let Some(from) = from else { return };
            let at = self.seated[from].iter().position(|other| *other == job);
            self.seated[from].swap_remove(at.expect("who moves on was seated there"));
            to = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Random;

    fn total(groups: &[Group], rows: &[Row], places: &[Vec<Slot>]) -> u64 {
        let cost = |row: &Row, slot: &Slot| {
            u64::from(slot.from_end) * row.times[slot.group].unwrap() + groups[slot.group].delay
        };
        rows.iter()
            .zip(places)
            .map(|(row, slots)| slots.iter().map(|slot| cost(row, slot)).sum::<u64>())
            .sum()
    }

    /// The slow twin: every job on every machine in every order, as sums of completion times.
    fn exhaustive(machines: &[(usize, u64)], times: &[Vec<Option<u64>>]) -> u64 {
        fn search(machines: &[(usize, u64)], times: &[Vec<Option<u64>>], lists: &mut [Vec<u64>]) -> u64 {
            let Some((first, rest)) = times.split_first() else {
                let sum = |(list, (_, delay)): (&Vec<u64>, &(usize, u64))| {
                    // Shortest first is the best order on one machine.
                    let (mut sorted, mut now, mut sum) = (list.clone(), *delay, 0);
                    sorted.sort_unstable();
                    for time in sorted {
                        now += time;
                        sum += now;
                    }
                    sum
                };
                return lists.iter().zip(machines).map(sum).sum();
            };
            let mut best = u64::MAX;
            for at in 0..machines.len() {
                if let Some(time) = first[machines[at].0] {
                    lists[at].push(time);
                    best = best.min(search(machines, rest, lists));
                    lists[at].pop();
                }
            }
            best
        }
        search(machines, times, &mut vec![Vec::new(); machines.len()])
    }

    #[test]
    fn merged_slots_cost_no_more_than_trying_everything() {
        let mut random = Random::new(11);
        for trial in 0..300 {
            let groups: Vec<Group> = (0..=random.below(3))
                .map(|_| Group {
                    count: 1 + random.below(2) as u32,
                    delay: random.below(3) * random.below(40),
                })
                .collect();
            let rows: Vec<Row> = (0..=random.below(6))
                .map(|_| {
                    let time = |_| (!random.chance(0.2)).then(|| 1 + random.below(60));
                    let mut times: Vec<_> = groups.iter().map(time).collect();
                    times[0] = times[0].or(Some(25));
                    Row { units: 1, times }
                })
                .collect();
            let machines: Vec<(usize, u64)> = groups
                .iter()
                .enumerate()
                .flat_map(|(at, group)| (0..group.count).map(move |_| (at, group.delay)))
                .collect();
            let times: Vec<_> = rows.iter().map(|row| row.times.clone()).collect();
            let places = cheapest(&groups, &rows);
            assert!(places.iter().all(|slots| slots.len() == 1));
            assert_eq!(total(&groups, &rows, &places), exhaustive(&machines, &times), "trial {trial}");
        }
    }

    #[test]
    fn a_gang_takes_one_slot_for_each_of_its_units() {
        let groups = [Group { count: 4, delay: 0 }];
        let row = |units, time| Row { units, times: vec![Some(time)] };
        let places = cheapest(&groups, &[row(4, 10), row(1, 5)]);
        assert_eq!((places[0].len(), places[1].len()), (4, 1));
        assert_eq!(places[1][0].from_end, 2, "the short job comes before a unit of the gang");
    }
}
