//! Delta debugging: the smallest part of a list with which a test still fails.
//!
//! Law: the test fails with the result, and passes if any one element is left out, unless the search was stopped. No
//! part is tested twice.

use std::collections::BTreeMap;

/// Search for a smallest part of `0..len`.
#[derive(Debug)]
pub(super) struct Search<F> {
    /// Test: returns true if it fails with these elements; `None` stops the search.
    fails: F,
    /// Results of the tests so far.
    known: BTreeMap<Vec<usize>, bool>,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Elements of the smallest part found.
    pub(super) elements: Vec<usize>,
    /// True if the search was stopped before its end.
    pub(super) is_stopped: bool,
}

impl<F: FnMut(&[usize]) -> Option<bool>> Search<F> {
    pub(super) const fn new(fails: F) -> Self {
        Self {
            fails,
            known: BTreeMap::new(),
        }
    }

    /// Searches for a smallest part of `0..len`. The test must fail with all elements and pass without any.
    pub(super) fn run(&mut self, len: usize) -> Found {
        let mut best: Vec<usize> = (0..len).collect();
        let mut parts = 2;
        while best.len() > 1 {
            match self.step(&best, parts) {
                None => {
                    return Found {
                        elements: best,
                        is_stopped: true,
                    };
                }
                Some(SearchStep::Smaller(smaller, next)) => (best, parts) = (smaller, next),
                Some(SearchStep::Same) if parts >= best.len() => break,
                Some(SearchStep::Same) => parts = (parts * 2).min(best.len()),
            }
        }
        Found {
            elements: best,
            is_stopped: false,
        }
    }

    /// Tries each part by itself, then all elements without each part. Returns `None` if the search was stopped.
    fn step(&mut self, best: &[usize], parts: usize) -> Option<SearchStep> {
        let size = best.len().div_ceil(parts.max(1)).max(1);
        for part in best.chunks(size) {
            if self.fails(part)? {
                return Some(SearchStep::Smaller(part.to_vec(), 2));
            }
        }
        for (number, _) in best.chunks(size).enumerate() {
            let rest = best.chunks(size).enumerate();
            let rest: Vec<usize> = rest
                .filter(|(at, _)| *at != number)
                .flat_map(|(_, part)| part.iter().copied())
                .collect();
            if self.fails(&rest)? {
                let next = (parts - 1).max(2).min(rest.len().max(1));
                return Some(SearchStep::Smaller(rest, next));
            }
        }
        Some(SearchStep::Same)
    }

    fn fails(&mut self, part: &[usize]) -> Option<bool> {
        if part.is_empty() {
            return Some(false);
        }
        if let Some(known) = self.known.get(part) {
            return Some(*known);
        }
        let fails = (self.fails)(part)?;
        self.known.insert(part.to_vec(), fails);
        Some(fails)
    }
}

/// Result of a step.
enum SearchStep {
    /// A smaller part fails; contains the number of parts to try next.
    Smaller(Vec<usize>, usize),
    Same,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches for the elements that make the test fail if it fails with any of these combinations. Returns the part
    /// and the number of tests.
    fn search(len: usize, needed: &[&[usize]]) -> (Vec<usize>, usize) {
        let mut tests = Vec::new();
        let fails = |part: &[usize]| {
            assert!(!tests.contains(&part.to_vec()), "{part:?} is tested twice");
            tests.push(part.to_vec());
            Some(
                needed
                    .iter()
                    .any(|needed| needed.iter().all(|one| part.contains(one))),
            )
        };
        let found = Search::new(fails).run(len);
        assert!(!found.is_stopped);
        (found.elements, tests.len())
    }

    #[test]
    fn the_part_that_is_needed_is_left() {
        assert_eq!(search(1, &[&[0]]).0, [0]);
        for at in [0, 1, 499, 999] {
            let (part, tests) = search(1000, &[&[at]]);
            assert!(part == [at] && tests < 60, "{at}: {part:?} after {tests}");
        }
        assert_eq!(search(1000, &[&[3, 998]]).0, [3, 998]);
        assert_eq!(search(100, &[&[7, 8, 9, 50, 51]]).0, [7, 8, 9, 50, 51]);
        // Every element is needed.
        assert_eq!(search(6, &[&[0, 1, 2, 3, 4, 5]]).0, [0, 1, 2, 3, 4, 5]);
        // If there are several causes, exactly one of them remains, with all its elements.
        assert!([vec![1, 2], vec![90]].contains(&search(100, &[&[1, 2], &[90]]).0));
    }

    #[test]
    fn a_stopped_search_has_the_best_so_far() {
        let mut left = 5;
        let fails = |part: &[usize]| {
            left -= 1;
            (left > 0).then(|| part.contains(&99))
        };
        let found = Search::new(fails).run(100);
        assert!(found.is_stopped && found.elements.contains(&99), "{found:?}");
        assert!(found.elements.len() < 100);
    }
}
