//! The rules in order, with sliders for link lines.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use teetap_inspect::jsonl::RuleBody;

use super::{below, hints::short, put};
use crate::{
    Action,
    app::{
        App, Pane,
        rules::{RuleRow, Slider, is_link},
    },
};

/// Minimum lines of the view with the warning about the selected rule.
const LEAST: u16 = 8;

/// Draws the rows.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let area = warned(buffer, area, app);
    app.panes.areas.push((Pane::Rules, below(area, 1)));
    let theme = app.look.theme;
    let head = Line::styled(" on     hits      last  rule", theme.quiet());
    let mut areas = area.rows();
    if let Some(row) = areas.next() {
        put(buffer, row, &head);
    }
    let rows = app.rules.rows();
    let height = usize::from(area.height.saturating_sub(1));
    let top = app.rules.cursor.fit(height, rows.len());
    let selected = app.rules.cursor.selected();
    for ((place, row), area) in rows.iter().enumerate().skip(top).zip(areas.by_ref()) {
        let line = match row {
            RuleRow::Statement(place) => app
                .rules
                .list
                .get(*place)
                .map(|rule| statement(rule, app.rules.warning(*place), area.width, app)),
            RuleRow::Slider(place, slider) => {
                let rule = place.and_then(|place| app.rules.list.get(place));
                Some(self::slider(rule, *slider, area.width, app))
            }
            RuleRow::Profile => Some(profile(area.width, app)),
        };
        put(buffer, area, &line.unwrap_or_default());
        if selected == Some(place) {
            buffer.set_style(area, theme.selected(true));
        }
    }
    if app.rules.list.is_empty() {
        let key = |action| app.dialog.keymap.hint(action);
        let sentences = [
            format!(
                "no rules yet: {} adds one, such as   drop when cl_emoticon",
                key(Action::AddRule)
            ),
            format!(
                "{} in the messages makes one from a row",
                key(Action::RuleFromRow)
            ),
        ];
        for (sentence, area) in sentences.iter().zip(areas.skip(1)) {
            put(buffer, area, &Line::raw(format!("  {sentence}")));
        }
    }
}

/// Draws the warning about the selected rule at the bottom. Returns the area above it.
fn warned(buffer: &mut Buffer, area: Rect, app: &App) -> Rect {
    let warning = app.rules.place().and_then(|place| app.rules.warning(place));
    let Some(warning) = warning.filter(|_| area.height >= LEAST) else {
        return area;
    };
    let lines = short(&format!("! {warning}"), usize::from(area.width).saturating_sub(2));
    let height = u16::try_from(lines.len()).unwrap_or(0);
    let list = Rect {
        height: area.height - height,
        ..area
    };
    for (line, row) in lines.iter().zip(below(area, list.height).rows()) {
        put(
            buffer,
            row,
            &Line::styled(format!(" {line}"), app.look.theme.warning()),
        );
    }
    list
}

fn statement<'a>(rule: &'a RuleBody, warning: Option<&str>, width: u16, app: &App) -> Line<'a> {
    let theme = app.look.theme;
    let (word, style) = match rule.on {
        true => ("on ", theme.good()),
        false => ("off", theme.quiet()),
    };
    let hits = rule.hits.map_or(String::new(), |hits| hits.to_string());
    let last = rule
        .last_hit
        .map_or(String::new(), |at| format!("{:.1}s", at.as_secs_f64()));
    let name = if rule.name == rule.text {
        String::new()
    } else {
        format!("{}: ", rule.name)
    };
    let mut spans = vec![
        Span::styled(format!(" {word}"), style),
        Span::styled(if warning.is_some() { "!" } else { " " }, theme.warning()),
        Span::raw(format!("{hits:>7} ")),
        Span::styled(format!("{last:>9}  "), theme.quiet()),
        Span::styled(name, theme.name_of(Style::new())),
        Span::raw(rule.text.as_str()),
    ];
    if width >= 100 {
        spans.push(Span::styled(format!("  ({})", rule.from), theme.quiet()));
    }
    Line::from(spans)
}

/// Returns the space before a slider: aligned with the texts of rules if there is room.
fn indent(width: u16) -> String {
    " ".repeat(if width < 90 { 2 } else { 26 })
}

fn profile<'a>(width: u16, app: &App) -> Line<'a> {
    let used = app.rules.profile().map_or("none", |(_, name)| name);
    Line::from(vec![
        Span::raw(format!("{}profile ", indent(width))),
        Span::styled(format!("‹ {used} ›"), app.look.theme.name_of(Style::new())),
        Span::styled("  (left and right choose one)", app.look.theme.quiet()),
    ])
}

fn slider<'a>(rule: Option<&RuleBody>, slider: Slider, width: u16, app: &App) -> Line<'a> {
    // Width of the bar.
    let all = if width < 70 { 12 } else { 20 };
    let theme = app.look.theme;
    let value = rule.and_then(|rule| slider.value(&rule.text)).unwrap_or(0);
    let (_, most, unit) = slider.scale();
    // A delay's bar covers only the lower part of the range, which is the most useful.
    let full = match slider {
        Slider::Delay => most / 4,
        Slider::Loss => most,
    };
    let filled = (value * all).div_ceil(full.max(1)).min(all);
    let bar = |count: u32, char: &str| char.repeat(usize::try_from(count).unwrap_or(0));
    let owner = match rule {
        Some(rule) if is_link(rule) => String::new(),
        _ if width < 110 => "  (link both: right adds it)".to_owned(),
        _ => "  (link both: right adds it, Enter types it)".to_owned(),
    };
    Line::from(vec![
        Span::raw(format!("{}{:<8}", indent(width), slider.word())),
        Span::styled(bar(filled, "█"), theme.direction(teetap_wire::Dir::C2s)),
        Span::styled(bar(all - filled, "░"), theme.quiet()),
        Span::raw(format!(" {value:>4} {unit}")),
        Span::styled(owner, theme.quiet()),
    ])
}
