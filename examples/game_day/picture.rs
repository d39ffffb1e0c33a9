//! The picture: five scales, and on each both arrangements beside each other.

use std::fs;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::curves::{Curve, PANELS, Panel};
use crate::day::{Phase, Run};
use crate::http::Error;
use crate::service::Arrangement;
use crate::table;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Seconds from left to right, whatever the panel shows from bottom to top.
type Scale = (f64, f64);

const WIDTH: u32 = 1200;
const HEAD: u32 = 56;
const PANEL: u32 = 210;
const PANEL_HEAD: u32 = 54;
/// Room for the numbers on the left of a panel.
const LEFT: u32 = 64;
const MARGIN: u32 = 8;
/// And for the seconds under the lowest.
const BOTTOM: u32 = 32;
/// About the width of a letter: the picture is drawn without a look at any font.
const LETTER: i32 = 6;
const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(110, 110, 110);
const COLOURS: [RGBColor; 4] = [
    RGBColor(31, 90, 170),
    RGBColor(205, 85, 20),
    RGBColor(30, 140, 80),
    RGBColor(130, 60, 150),
];

/// Writes it to `path` as an SVG.
pub(crate) fn draw(runs: &[&Run], path: &Path) -> Result<(), Error> {
    let mut svg = String::new();
    let panels = u32::try_from(PANELS.len())?;
    let size = (WIDTH, HEAD + panels * PANEL + BOTTOM);
    {
        let picture = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        fill(&picture, runs).map_err(|error| error.to_string())?;
        picture.present().map_err(|error| error.to_string())?;
    }
    Ok(fs::write(path, svg)?)
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn fill<'a>(picture: &Area<'a>, runs: &[&Run]) -> Drawn<'a> {
    picture.fill(&WHITE)?;
    let (head, body) = picture.split_vertically(HEAD);
    let columns = body.split_evenly((1, runs.len()));
    let heads = head.split_evenly((1, runs.len()));
    for (head, run) in heads.iter().zip(runs) {
        title(head, run.arrangement)?;
    }
    let seconds = runs.iter().filter_map(|run| run.spans.last());
    let seconds = seconds
        .map(|span| span.to.as_secs_f64())
        .fold(0.0, f64::max);
    let rows: Vec<Vec<Area<'a>>> = columns.iter().map(rows).collect();
    for (row, panel) in PANELS.iter().enumerate() {
        let curves: Vec<Vec<Curve>> = runs.iter().map(|run| (panel.curves)(run)).collect();
        let scale = (seconds, highest(&curves) * 1.15);
        for ((column, run), curves) in rows.iter().zip(runs).zip(&curves) {
            let is_last = row + 1 == PANELS.len();
            draw_panel(&column[row], panel, run, curves, scale, is_last)?;
        }
    }
    Ok(())
}

/// One a panel; the lowest has the seconds under it.
fn rows<'a>(column: &Area<'a>) -> Vec<Area<'a>> {
    let mut rest = column.clone();
    let mut rows = Vec::new();
    for _ in 1..PANELS.len() {
        let (row, below) = rest.split_vertically(PANEL);
        rows.push(row);
        rest = below;
    }
    rows.push(rest);
    rows
}

fn highest(curves: &[Vec<Curve>]) -> f64 {
    let points = curves.iter().flatten().flat_map(|curve| &curve.points);
    points.map(|(_, value)| *value).fold(0.0, f64::max)
}

fn title<'a>(head: &Area<'a>, arrangement: Arrangement) -> Drawn<'a> {
    let text = match arrangement {
        Arrangement::Naive => "Without the contract",
        Arrangement::Contract => "With the contract",
    };
    let (width, height) = head.dim_in_pixel();
    let middle = (width.cast_signed() / 2, height.cast_signed() / 2);
    let centred = Pos::new(HPos::Center, VPos::Center);
    head.draw_text(text, &font(20, &BLACK).pos(centred), middle)
}

fn draw_panel<'a>(
    area: &Area<'a>,
    panel: &Panel,
    run: &Run,
    curves: &[Curve],
    (seconds, top): Scale,
    has_seconds: bool,
) -> Drawn<'a> {
    let (head, body) = area.split_vertically(PANEL_HEAD);
    legend(&head, panel, curves)?;
    let mut chart = ChartBuilder::on(&body)
        .margin_right(18)
        .x_label_area_size(if has_seconds { MARGIN + BOTTOM } else { MARGIN })
        .y_label_area_size(LEFT)
        .build_cartesian_2d(0.0..seconds, 0.0..top)?;
    for span in &run.spans {
        let [from, to] = [span.from, span.to].map(|moment| moment.as_secs_f64());
        let shade = shade(span.phase).filled();
        let shaded = Rectangle::new([(from, 0.0), (to, top)], shade);
        let name = Text::new(
            table::name(span.phase),
            (from + 0.15, top * 0.97),
            font(11, &GREY),
        );
        chart.draw_series([shaded])?;
        chart.draw_series([name])?;
    }
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc(if has_seconds { "seconds" } else { "" })
        .y_desc(panel.unit)
        .x_labels(if has_seconds { 12 } else { 0 })
        .y_labels(4)
        .x_label_formatter(&f64::to_string)
        .y_label_formatter(&f64::to_string)
        .label_style(font(11, &BLACK))
        .axis_desc_style(font(11, &BLACK))
        .draw()?;
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let points = curve.points.iter().copied();
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    Ok(())
}

/// The title, and under it the names of the curves, each in its colour.
fn legend<'a>(head: &Area<'a>, panel: &Panel, curves: &[Curve]) -> Drawn<'a> {
    let mut x = LEFT.cast_signed();
    head.draw_text(panel.title, &font(14, &BLACK), (x, 12))?;
    for (curve, colour) in curves.iter().zip(COLOURS) {
        let line = [(x, 41), (x + 18, 41)];
        head.draw(&PathElement::new(line, colour.stroke_width(3)))?;
        head.draw_text(curve.name, &font(12, &colour), (x + 24, 34))?;
        let letters = i32::try_from(curve.name.len()).expect("a name is short");
        x += 24 + letters * LETTER + 22;
    }
    Ok(())
}

/// Bad times are warm, good ones are not.
fn shade(phase: Phase) -> RGBColor {
    match phase {
        Phase::Calm => RGBColor(247, 247, 247),
        Phase::Slow => RGBColor(253, 232, 224),
        Phase::Recovery => RGBColor(230, 243, 234),
        Phase::Sigterm => RGBColor(232, 232, 250),
    }
}

fn font(size: u32, colour: &RGBColor) -> TextStyle<'_> {
    TextStyle::from((FONT, f64::from(size) * 1.24).into_font()).color(colour)
}
