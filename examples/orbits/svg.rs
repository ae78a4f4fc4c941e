//! The drawing: the planets' tracks from above the ecliptic, to scale, in two panels.

use std::fmt::Write as _;

use crate::labels::{Box2, Labels};

/// What is drawn of one planet: places in astronomical units from the Sun, in the ecliptic.
pub(crate) struct Track {
    pub(crate) name: String,
    pub(crate) points: Vec<[f64; 2]>,
    /// Where the planet is at the end of the run.
    pub(crate) place: [f64; 2],
}

/// Planets up to this distance from the Sun are the inner ones, which have a panel of their own.
const INNER: f64 = 2.5;
const SIDE: f64 = 600.0;
const MARGIN: f64 = 30.0;
const TOP: f64 = 84.0;
const WIDTH: f64 = 2.0 * SIDE + 3.0 * MARGIN;
const HEIGHT: f64 = TOP + SIDE + 54.0;

const STYLE: &str = "\
text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#333}\
.title{font-size:22px}.head{font-size:15px}.label{font-size:14px}.small{font-size:13px;fill:#666}\
.track{fill:none;stroke-width:1.5;stroke-linejoin:round}\
.frame{fill:#fdfdfb;stroke:#bbb}.scale{stroke:#333;stroke-width:2}\
.inset{fill:none;stroke:#bbb;stroke-dasharray:4 4}";

fn colour(planet: &str) -> &'static str {
    match planet {
        "Mercury" => "#7d6b5d",
        "Venus" => "#c28a12",
        "Earth" => "#1f77b4",
        "Mars" => "#c1402b",
        "Jupiter" => "#a2672f",
        "Saturn" => "#8f7d1d",
        "Uranus" => "#1b8e8a",
        "Neptune" => "#3a4cb5",
        _ => "#555555",
    }
}

/// The whole drawing as a text. `years` is the length of the run.
pub(crate) fn drawing(tracks: &[Track], years: u32) -> String {
    let outermost = reach(tracks, |_| true);
    let inner = reach(tracks, |distance| distance < INNER);
    let mut svg = String::new();
    // Writing to a `String` cannot fail, here and below.
    let _ = write!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">
<style>{STYLE}</style>
<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>
<text class="title" x="{MARGIN}" y="40">The planets' tracks from J2000</text>
"#
    );
    let unit = if years == 1 { "year" } else { "years" };
    let bottom = HEIGHT - 20.0;
    let _ = writeln!(
        svg,
        r#"<text class="small" x="{MARGIN}" y="{bottom}">First orbits about the Sun, seen from the ecliptic's north pole, the vernal equinox to the right. Dots: where the planets stand after {years} {unit}.</text>"#
    );
    let whole = Panel {
        title: "All planets",
        left: MARGIN,
        reach: outermost,
        least: INNER,
    };
    whole.draw(&mut svg, tracks, Some(inner));
    let near = Panel {
        title: "The inner planets",
        left: 2.0 * MARGIN + SIDE,
        reach: inner,
        least: 0.0,
    };
    near.draw(&mut svg, tracks, None);
    svg.push_str("</svg>\n");
    svg
}

/// How far the tracks reach that a panel shows, with a little room around.
fn reach(tracks: &[Track], shown: impl Fn(f64) -> bool) -> f64 {
    let far = tracks
        .iter()
        .map(Track::distance)
        .filter(|distance| shown(*distance));
    far.fold(0.1, f64::max) * 1.08
}

impl Track {
    fn distance(&self) -> f64 {
        self.points
            .iter()
            .chain([&self.place])
            .map(|[x, y]| x.hypot(*y))
            .fold(0.0, f64::max)
    }
}

/// A square with the Sun in its middle.
struct Panel {
    title: &'static str,
    left: f64,
    /// Astronomical units from the middle to an edge.
    reach: f64,
    /// Planets nearer than this are drawn without a label: another panel names them.
    least: f64,
}

impl Panel {
    fn scale(&self) -> f64 {
        SIDE / 2.0 / self.reach
    }

    fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let scale = self.scale();
        [
            self.left + SIDE / 2.0 + x * scale,
            TOP + SIDE / 2.0 - y * scale,
        ]
    }

    fn draw(&self, svg: &mut String, tracks: &[Track], inset: Option<f64>) {
        let Self { title, left, .. } = *self;
        let _ = write!(
            svg,
            r#"<text class="head" x="{left}" y="{}">{title}</text>
<rect class="frame" x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}"/>
"#,
            TOP - 10.0
        );
        let frame = Box2 {
            left,
            top: TOP,
            right: left + SIDE,
            bottom: TOP + SIDE,
        };
        let mut labels = Labels::new(frame);
        labels.block(self.draw_scale(svg));
        let tracks = || tracks.iter().filter(|track| track.distance() < self.reach);
        for track in tracks() {
            self.draw_track(svg, track, &mut labels);
        }
        let [x, y] = self.at([0.0, 0.0]);
        let _ = writeln!(
            svg,
            r##"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="#f2b100" stroke="#a87b00"/>"##
        );
        labels.block(Box2::around([x, y], 5.0));
        let dots: Vec<(&Track, [f64; 2])> = tracks()
            .map(|track| (track, self.at(track.place)))
            .collect();
        for (track, [x, y]) in &dots {
            let colour = colour(&track.name);
            let _ = writeln!(
                svg,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{colour}" stroke="white"/>"#
            );
            labels.block(Box2::around([*x, *y], 5.0));
        }
        if let Some(reach) = inset {
            self.draw_inset(svg, reach, &mut labels);
        }
        for (track, dot) in dots
            .iter()
            .filter(|(track, _)| track.distance() > self.least)
        {
            let [x, y] = labels.place(*dot, &track.name);
            let (colour, name) = (colour(&track.name), &track.name);
            let _ = writeln!(
                svg,
                r#"<text class="label" x="{x:.1}" y="{y:.1}" style="fill:{colour}">{name}</text>"#
            );
        }
    }

    fn draw_track(&self, svg: &mut String, track: &Track, labels: &mut Labels) {
        let _ = write!(
            svg,
            r#"<polyline class="track" stroke="{}" points=""#,
            colour(&track.name)
        );
        let mut before = None;
        for point in &track.points {
            let [x, y] = self.at(*point);
            let _ = write!(svg, "{x:.1},{y:.1} ");
            labels.avoid_line(before.unwrap_or([x, y]), [x, y]);
            before = Some([x, y]);
        }
        svg.push_str("\"/>\n");
    }

    /// A bar of a round length in the lower left corner, and the room it takes.
    fn draw_scale(&self, svg: &mut String) -> Box2 {
        let length = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
            .into_iter()
            .rfind(|length| *length < self.reach / 2.0)
            .unwrap_or(0.05);
        let (x, y) = (self.left + 14.0, TOP + SIDE - 16.0);
        let end = x + length * self.scale();
        let _ = write!(
            svg,
            r#"<line class="scale" x1="{x:.1}" y1="{y:.1}" x2="{end:.1}" y2="{y:.1}"/>
<text class="small" x="{x:.1}" y="{:.1}">{length} au</text>
"#,
            y - 7.0
        );
        Box2 {
            left: x,
            top: y - 22.0,
            right: end,
            bottom: y + 4.0,
        }
    }

    /// Marks the part that the panel to the right shows.
    fn draw_inset(&self, svg: &mut String, reach: f64, labels: &mut Labels) {
        let [left, top] = self.at([-reach, reach]);
        let side = 2.0 * reach * self.scale();
        let _ = writeln!(
            svg,
            r#"<rect class="inset" x="{left:.1}" y="{top:.1}" width="{side:.1}" height="{side:.1}"/>"#
        );
        labels.block(Box2 {
            left,
            top,
            right: left + side,
            bottom: top + side,
        });
        let (right, next) = (left + side, self.left + SIDE + MARGIN);
        for (from, to) in [([right, top], TOP), ([right, top + side], TOP + SIDE)] {
            let [x, y] = from;
            let _ = writeln!(
                svg,
                r#"<line class="inset" x1="{x:.1}" y1="{y:.1}" x2="{next}" y2="{to}"/>"#
            );
            labels.avoid_line(from, [next, to]);
        }
    }
}
