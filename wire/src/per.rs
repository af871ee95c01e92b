//! A value for each side, and a value for each direction.

use std::ops::{Index, IndexMut};

use crate::{Dir, Side};

/// A value for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PerSide<T> {
    /// The value of the client.
    pub client: T,
    /// The value of the server.
    pub server: T,
}

impl<T> PerSide<T> {
    /// Returns the values that `value` returns for each side, the client first.
    pub fn from_fn(mut value: impl FnMut(Side) -> T) -> Self {
        Self {
            client: value(Side::Client),
            server: value(Side::Server),
        }
    }

    /// Returns the value of the client, then the value of the server.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.client, &self.server].into_iter()
    }

    /// Returns the value of the client, then the value of the server.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        [&mut self.client, &mut self.server].into_iter()
    }
}

impl<T> Index<Side> for PerSide<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// A value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PerDir<T> {
    /// The value of the direction from the client to the server.
    pub c2s: T,
    /// The value of the direction from the server to the client.
    pub s2c: T,
}

impl<T> PerDir<T> {
    /// Returns the values that `value` returns for each direction, client to server first.
    pub fn from_fn(mut value: impl FnMut(Dir) -> T) -> Self {
        Self {
            c2s: value(Dir::C2s),
            s2c: value(Dir::S2c),
        }
    }

    /// Returns the values that `change` returns for the values of each direction.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerDir<U> {
        PerDir {
            c2s: change(self.c2s),
            s2c: change(self.s2c),
        }
    }

    /// Returns the value of the client's direction, then the value of the server's direction.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.c2s, &self.s2c].into_iter()
    }

    /// Returns the value of the client's direction, then the value of the server's direction.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        [&mut self.c2s, &mut self.s2c].into_iter()
    }

    /// Returns the value of a direction, and the value of the opposite direction.
    pub fn with_reverse_mut(&mut self, dir: Dir) -> (&mut T, &mut T) {
        match dir {
            Dir::C2s => (&mut self.c2s, &mut self.s2c),
            Dir::S2c => (&mut self.s2c, &mut self.c2s),
        }
    }
}

impl<T> Index<Dir> for PerDir<T> {
    type Output = T;

    fn index(&self, dir: Dir) -> &T {
        match dir {
            Dir::C2s => &self.c2s,
            Dir::S2c => &self.s2c,
        }
    }
}

impl<T> IndexMut<Dir> for PerDir<T> {
    fn index_mut(&mut self, dir: Dir) -> &mut T {
        match dir {
            Dir::C2s => &mut self.c2s,
            Dir::S2c => &mut self.s2c,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_and_direction_has_a_value_of_its_own() {
        let mut sides = PerSide::from_fn(|side| side.to_string());
        sides[Side::Server].push('!');
        assert_eq!(
            [&sides[Side::Client], &sides[Side::Server]],
            ["client", "server!"]
        );
        assert!(sides.iter().eq(["client", "server!"]));
        sides.iter_mut().for_each(String::clear);
        assert_eq!(sides, PerSide::default());

        let mut dirs = PerDir::from_fn(|dir| dir.to_string());
        dirs[Dir::C2s].push('!');
        assert_eq!([&dirs[Dir::C2s], &dirs[Dir::S2c]], ["c2s!", "s2c"]);
        assert!(dirs.iter().eq(["c2s!", "s2c"]));
        assert_eq!(
            dirs.with_reverse_mut(Dir::S2c),
            (&mut "s2c".to_owned(), &mut "c2s!".to_owned())
        );
        assert_eq!(
            dirs.with_reverse_mut(Dir::C2s),
            (&mut "c2s!".to_owned(), &mut "s2c".to_owned())
        );
        assert_eq!(dirs.clone().map(|text| text.len()), PerDir { c2s: 4, s2c: 3 });
        dirs.iter_mut().for_each(String::clear);
        assert_eq!(dirs, PerDir::default());
    }
}
