//! A form with the fields of a message.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    text::{Line, Span},
};

use super::{popup, prompt::end_of, put};
use crate::{
    app::{
        App,
        form::{FormField, MessageForm, Target},
    },
    theme::Theme,
};

/// Maximum columns of values before their hints.
const MOST: usize = 24;

/// Draws the fields. Returns the position of the cursor.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App, form: &mut MessageForm) -> Option<Position> {
    let theme = app.look.theme;
    let title = match &form.target {
        Target::Edit(held) => {
            let left = app.queue.now(held).and_then(|now| now.message.until);
            let left = match left {
                Some(until) => format!("  {:.1} s left", (until - app.run.now).as_secs_f64()),
                None if form.is_late => ": no longer held, Enter sends it as a new message".to_owned(),
                None => String::new(),
            };
            format!("edit held {} {}{left}", held.held.0, form.message)
        }
        Target::Row(seen) => format!("edit a copy of {} and send it {}", form.message, seen.dir),
        Target::Inject(dir) => {
            let every = form
                .every
                .map_or(String::new(), |every| format!(" every {every:?}"));
            format!("inject {dir} {}{every}", form.message)
        }
    };
    let len = form.fields.len();
    let height = u16::try_from(len + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect {
        y: area.bottom() - height,
        height,
        ..area
    };
    let inner = popup(buffer, area, &title, theme.title(true));
    let mut rows = inner.rows().rev();
    if let Some(row) = rows.next() {
        let line = match &form.error {
            Some(why) => Line::styled(format!(" {why}"), theme.warning()),
            None => Line::styled(format!(" {}", form.text()), theme.good()),
        };
        put(buffer, row, &line);
    }
    let height = usize::from(inner.height.saturating_sub(1));
    let top = form.cursor.fit(height, len);
    let selected = form.cursor.selected();
    let names = form
        .fields
        .iter()
        .map(|field| field.name.chars().count())
        .max()
        .unwrap_or(0);
    // Hints are aligned if the values leave room.
    let values = form
        .fields
        .iter()
        .map(|field| Line::raw(field.editor.text()).width());
    let values = values.max().unwrap_or(0).min(MOST);
    let mut cursor = None;
    let fields = form.fields.iter().enumerate().skip(top).take(height);
    for ((place, field), row) in fields.zip(inner.rows()) {
        let is_selected = selected == Some(place);
        let at = draw_field(buffer, row, theme, field, (names, values), is_selected);
        if is_selected {
            cursor = Some(at);
        }
    }
    cursor
}

/// Draws a field with its value and hint in columns of these widths. Returns the position of the cursor in its value.
fn draw_field(
    buffer: &mut Buffer,
    row: Rect,
    theme: Theme,
    field: &FormField,
    (names, values): (usize, usize),
    is_selected: bool,
) -> Position {
    let (before, after) = field.editor.parts();
    let name = if field.is_changed() {
        theme.action()
    } else {
        theme.key()
    };
    let mark = if is_selected { "›" } else { " " };
    let head = format!("{mark}{:<names$}  ", field.name);
    // A long value is scrolled to its end.
    let room = usize::from(row.width).saturating_sub(Line::raw(head.as_str()).width() + 2);
    let before = match is_selected {
        true => end_of(before, room),
        false => before,
    };
    let column = Line::raw(format!("{head}{before}")).width();
    let value = format!("{before}{after}");
    let space = " ".repeat(values.saturating_sub(Line::raw(value.as_str()).width()));
    let line = Line::from(vec![
        Span::styled(head, name),
        Span::raw(value),
        Span::styled(format!("{space}   {}", field.hint), theme.quiet()),
    ]);
    put(buffer, row, &line);
    let column = u16::try_from(column)
        .unwrap_or(0)
        .min(row.width.saturating_sub(1));
    Position::new(row.x + column, row.y)
}
