//! The detail panes: the tree of fields, and the bytes.

use std::ops::Range;
use teetap_wire::counted;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::put;
use crate::{
    Theme,
    app::{
        App, Pane,
        contents::{Contents, LineKind, TreeLine},
    },
};

/// Columns of a line of 16 bytes: offset, bytes, and their text.
pub(super) const WIDE_HEX: u16 = 5 + 16 * 3 + 16;

/// Draws the title of a pane. Returns the area below it.
pub(super) fn title(buffer: &mut Buffer, area: Rect, text: &str, focused: bool, theme: Theme) -> Rect {
    if let Some(row) = area.rows().next() {
        let rule = super::ruled(text, area.width);
        put(buffer, row, &Line::styled(rule, theme.title(focused)));
    }
    super::below(area, 1)
}

/// Draws the fields of the selected message. Returns the area of the lines.
pub(super) fn tree(buffer: &mut Buffer, area: Rect, app: &mut App) -> Rect {
    let theme = app.look.theme;
    let focused = app.panes.focus == Pane::Tree;
    let name = match app.detail.contents.title.as_str() {
        "" => "fields",
        name => name,
    };
    let inner = title(buffer, area, name, focused, theme);
    let contents = &app.detail.contents;
    if contents.lines.is_empty() {
        super::empty(buffer, inner, &["select a row of the list to see its fields"]);
        return inner;
    }
    let len = contents.lines.len();
    let top = app.detail.tree.fit(inner.height.into(), len);
    hidden(buffer, area, (top, inner.height.into(), len), theme);
    let selected = app.detail.tree.selected();
    let lines = contents.lines.iter().enumerate().skip(top);
    for ((place, line), row) in lines.zip(inner.rows()) {
        put(buffer, row, &tree_line(line, contents.names, theme));
        if selected == Some(place) && app.panes.focus != Pane::List {
            buffer.set_style(row, theme.selected(focused));
        }
    }
    inner
}

/// Draws the number of lines that are hidden above and below into the title of a pane.
pub(super) fn hidden(
    buffer: &mut Buffer,
    area: Rect,
    (top, height, len): (usize, usize, usize),
    theme: Theme,
) {
    let below = len.saturating_sub(top + height);
    let text = match (top, below) {
        (0, 0) => return,
        (_, 0) => format!(" {top} above ▴ "),
        (0, _) => format!(" {below} below ▾ "),
        _ => format!(" {top} ▴ {below} below ▾ "),
    };
    let line = Line::styled(text, theme.key());
    let width = u16::try_from(line.width()).unwrap_or(0);
    let place = Rect {
        x: area.right().saturating_sub(width + 1).max(area.x),
        width: width.min(area.width),
        height: area.height.min(1),
        ..area
    };
    put(buffer, place, &line);
}

fn tree_line(line: &TreeLine, width: usize, theme: Theme) -> Line<'_> {
    let (name, value) = match line.weight {
        LineKind::Fact => (theme.quiet(), theme.quiet()),
        LineKind::Field => (Style::new(), theme.name_of(Style::new())),
        LineKind::Changed | LineKind::Done => (theme.action(), theme.action()),
        LineKind::Warning => (theme.warning(), theme.warning()),
        LineKind::Note => (theme.quiet(), theme.quiet()),
    };
    if line.is_more {
        return Line::from(vec![
            Span::raw(" ".repeat(width + 2)),
            Span::styled(line.value.as_str(), value),
        ]);
    }
    let indent = 2 * usize::from(line.depth);
    let pad = width.saturating_sub(line.indented());
    // Sentences are not aligned.
    let (pad, gap) = match (line.name.is_empty(), line.is_sentence()) {
        (true, _) => (0, 0),
        (false, true) => (0, 1),
        (false, false) => (pad, 1),
    };
    Line::from(vec![
        Span::raw(" ".repeat(indent + 1)),
        Span::styled(line.name.as_str(), name),
        Span::raw(" ".repeat(pad + gap)),
        Span::styled(line.value.as_str(), value),
    ])
}

/// Draws the bytes of the selected message. Returns the area of the lines.
pub(super) fn hex(buffer: &mut Buffer, area: Rect, app: &mut App) -> Rect {
    let theme = app.look.theme;
    let focused = app.panes.focus == Pane::Hex;
    let len = app.detail.contents.bytes.len();
    let is_empty = len == 0 && app.detail.contents.after.is_none();
    let text = match app.detail.contents.after.as_ref().map(Vec::len) {
        None if is_empty => Pane::Hex.name().to_owned(),
        None => counted(len, "byte").to_string(),
        Some(after) => format!("{len} bytes, then {after} as sent"),
    };
    let inner = title(buffer, area, &text, focused, theme);
    if is_empty {
        super::empty(buffer, inner, &["this row has no bytes"]);
        return inner;
    }
    let columns = if inner.width >= WIDE_HEX { 16 } else { 8 };
    let selected = app.detail.range();
    app.detail.hex.columns(columns);
    let contents = &app.detail.contents;
    let own = contents.bytes.len().div_ceil(columns);
    let after = contents.after.as_deref().unwrap_or_default();
    let title = usize::from(contents.after.is_some());
    let total = own + title + after.len().div_ceil(columns);
    let changed = difference(&contents.bytes, after);
    let cursor = app.detail.hex;
    let (row, column) = (cursor.lines.selected_of(own.max(1)).unwrap_or(0), cursor.column);
    let height = usize::from(inner.height);
    let top = app.detail.hex.lines.fit(height, own.max(1));
    // With the last line of bytes all lines of the sent bytes are shown, if they fit.
    let top = match row + 1 >= own && total > top + height {
        true => row.min(total.saturating_sub(height)).max(top),
        false => top,
    };
    hidden(buffer, area, (top, height, total), theme);
    let contents = &app.detail.contents;
    for (place, area) in (top..total).zip(inner.rows()) {
        let line = match place.checked_sub(own) {
            None => {
                let cells = cells(contents, &contents.bytes, place * columns, columns);
                bytes_line(
                    place * columns,
                    &cells,
                    columns,
                    contents,
                    selected.as_ref(),
                    theme,
                )
            }
            Some(0) => Line::styled(" as sent", theme.title(false)),
            Some(below) => {
                let start = (below - 1) * columns;
                after_line(
                    start,
                    &cells(contents, after, start, columns),
                    columns,
                    &changed,
                    theme,
                )
            }
        };
        let place = place - top;
        put(buffer, area, &line);
        if focused && place + top == row && own > 0 {
            let x = area.x + 5 + u16::try_from(3 * column).unwrap_or(0);
            let cell = Rect {
                x: x.min(area.right().saturating_sub(1)),
                width: 2.min(area.right().saturating_sub(x)),
                ..area
            };
            let is_marked = selected
                .as_ref()
                .is_some_and(|range| range.contains(&cursor.at()));
            buffer.set_style(
                cell,
                match is_marked {
                    true => theme.among_marked(),
                    false => theme.selected(true),
                },
            );
        }
    }
    inner
}

/// Returns the bytes of a line. Secret bytes are `None`.
fn cells(contents: &Contents, bytes: &[u8], start: usize, columns: usize) -> Vec<Option<u8>> {
    let is_secret = |at: usize| contents.secret.iter().any(|range| range.contains(&at));
    // Changed bytes may have moved, so all of them are hidden if one is secret.
    let hides_all = !contents.secret.is_empty() && !std::ptr::eq(bytes, contents.bytes.as_slice());
    let cells = bytes.iter().enumerate().skip(start).take(columns);
    cells
        .map(|(at, byte)| Some(*byte).filter(|_| !hides_all && !is_secret(at)))
        .collect()
}

fn bytes_line<'a>(
    start: usize,
    cells: &[Option<u8>],
    columns: usize,
    contents: &Contents,
    selected: Option<&Range<usize>>,
    theme: Theme,
) -> Line<'a> {
    let style = |at: usize| {
        let is_in = |range: &Range<usize>| range.contains(&at);
        if selected.is_some_and(is_in) {
            theme.marked()
        } else if contents.odd.iter().any(is_in) {
            theme.warning()
        } else {
            Style::new()
        }
    };
    line(start, cells, columns, &style, theme)
}

fn after_line<'a>(
    start: usize,
    cells: &[Option<u8>],
    columns: usize,
    changed: &Range<usize>,
    theme: Theme,
) -> Line<'a> {
    let style = |at: usize| {
        if changed.contains(&at) {
            theme.action()
        } else {
            Style::new()
        }
    };
    line(start, cells, columns, &style, theme)
}

fn line<'a>(
    start: usize,
    cells: &[Option<u8>],
    columns: usize,
    style: &dyn Fn(usize) -> Style,
    theme: Theme,
) -> Line<'a> {
    let mut spans = vec![Span::styled(format!("{start:04x} "), theme.quiet())];
    for (at, cell) in cells.iter().enumerate() {
        let text = cell.map_or("••".to_owned(), |byte| format!("{byte:02x}"));
        spans.push(Span::styled(text, style(start + at)));
        // A contiguous range is drawn as one block.
        let is_joined = at + 1 < cells.len() && style(start + at) == style(start + at + 1);
        let between = if is_joined {
            style(start + at)
        } else {
            Style::new()
        };
        spans.push(Span::styled(" ", between));
    }
    spans.push(Span::raw(" ".repeat(3 * (columns - cells.len().min(columns)))));
    for (at, cell) in cells.iter().enumerate() {
        let char = match cell {
            None => '•',
            Some(byte) if (0x20..0x7f).contains(byte) => char::from(*byte),
            Some(_) => '.',
        };
        spans.push(Span::styled(char.to_string(), style(start + at)));
    }
    Line::from(spans)
}

/// Returns the range of `after` between its common prefix and suffix with `before`.
fn difference(before: &[u8], after: &[u8]) -> Range<usize> {
    let same = |(one, other): &(&u8, &u8)| one == other;
    let start = before.iter().zip(after).take_while(same).count();
    let rest = before.len().min(after.len()) - start;
    let end = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(rest)
        .take_while(same)
        .count();
    start..after.len() - end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_between_equal_ends() {
        for (before, after, range) in [
            ("abc", "abc", 3..3),
            ("abc", "axc", 1..2),
            ("abc", "abxxc", 2..4),
            ("aa", "aaa", 2..3),
            ("", "x", 0..1),
            ("abc", "", 0..0),
        ] {
            assert_eq!(
                difference(before.as_bytes(), after.as_bytes()),
                range,
                "{before} {after}"
            );
        }
    }

    /// Bytes of one style are drawn as one block, without the space after the last byte.
    #[test]
    fn a_range_of_bytes_is_one_block() {
        let (plain, marked) = (Style::new(), Style::new().bold());
        let style = |at: usize| if (0x11..0x13).contains(&at) { marked } else { plain };
        let cells = [Some(b'a'), Some(0x1f), None, Some(0x7f), Some(b'~')];
        let line = line(0x10, &cells, 8, &style, Theme::default());
        let spans: Vec<_> = line
            .spans
            .iter()
            .skip(1)
            .map(|span| (&*span.content, span.style))
            .collect();
        let expected = [
            ("61", plain),
            (" ", plain),
            ("1f", marked),
            (" ", marked),
            ("••", marked),
            (" ", plain),
            ("7f", plain),
            (" ", plain),
            ("7e", plain),
            (" ", plain),
            ("         ", plain),
            ("a", plain),
            (".", marked),
            ("•", marked),
            (".", plain),
            ("~", plain),
        ];
        assert_eq!(spans, expected);
        assert_eq!(line.spans[0].content, "0010 ");
    }
}
