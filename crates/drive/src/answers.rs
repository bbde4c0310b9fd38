//! Answers that fall due, in order of their time.

use std::collections::VecDeque;

use crate::request::Completion;

/// An answer that falls due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// In ticks, where the completion has the time at which the host hears of it.
    pub at: u64,
    pub completion: Completion,
}

/// All that fall due. The first lies apart: mostly it is the only one, and needs no queue.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    first: Option<Due>,
    later: VecDeque<Due>,
}

impl Answers {
    pub fn with_capacity(count: usize) -> Self {
        Self { first: None, later: VecDeque::with_capacity(count) }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub fn first(&self) -> Option<&Due> {
        self.first.as_ref()
    }

    /// Adds one behind those that fall due at the same time.
    #[inline]
    pub fn push(&mut self, due: Due) {
        match self.first {
            None => self.first = Some(due),
            Some(first) if first.at <= due.at => self.push_later(due),
            Some(first) => {
                self.later.push_front(first);
                self.first = Some(due);
            }
        }
    }

    fn push_later(&mut self, due: Due) {
        if self.later.back().is_none_or(|last| last.at <= due.at) {
            self.later.push_back(due);
        } else {
            self.later.insert(self.later.partition_point(|other| other.at <= due.at), due);
        }
    }

    /// Takes out the first.
    #[inline]
    pub fn pop(&mut self) {
        self.first = self.later.pop_front();
    }

    pub fn clear(&mut self) {
        self.first = None;
        self.later.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Status;
    use proptest::prelude::*;

    proptest! {
        /// Whoever comes and goes, the order is that of a list sorted by time; of equals who came first is first.
        #[test]
        fn the_order_is_that_of_a_sorted_list(steps in prop::collection::vec(prop::option::of(0..20_u64), 1..100)) {
            let (mut answers, mut sorted) = (Answers::with_capacity(4), Vec::new());
            for (tag, step) in (0..).zip(steps) {
                match step {
                    Some(at) => {
                        let completion = Completion { tag, completed_ns: at, status: Status::Good };
                        answers.push(Due { at, completion });
                        sorted.push((at, tag));
                        sorted.sort_unstable();
                    }
                    None => {
                        answers.pop();
                        sorted.drain(..sorted.len().min(1));
                    }
                }
                prop_assert_eq!(answers.first().map(|due| (due.at, due.completion.tag)), sorted.first().copied());
                prop_assert_eq!(answers.is_empty(), sorted.is_empty());
            }
        }
    }
}
