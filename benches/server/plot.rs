//! Draws plots as SVG, without anything but text.

/// Lines in a field with logarithmic axes: what grows in proportion is a straight line.
pub struct Plot {
    /// The name of its file, without the ending.
    pub file: &'static str,
    pub title: &'static str,
    pub across: &'static str,
    pub up: &'static str,
    pub lines: Vec<Line>,
}

pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A bar with the place that 95 of 100 samples do not exceed.
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub p95: f64,
}

const COLOURS: [&str; 4] = ["#1f6f5c", "#c2571a", "#4a5fa5", "#8a8a8a"];
const STYLE: &str =
    "<style>text{font:12px sans-serif;fill:#222}.t{font-size:14px;font-weight:bold}.m{fill:#666}</style>";
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 240.0;

impl Plot {
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let [across, up] = [Axis::over(points().map(|point| point.0)), Axis::over(points().map(|point| point.1))];
        let x = |value: f64| LEFT + across.share(value) * WIDTH;
        let y = |value: f64| TOP + (1.0 - up.share(value)) * HEIGHT;
        let mut body = String::new();
        for mark in across.marks() {
            let at = x(mark);
            body += &format!("<path d='M{at:.1} {TOP}v{HEIGHT}' stroke='#ddd'/>");
            body += &text(at, TOP + HEIGHT + 16.0, "middle", "m", &short(mark));
        }
        for mark in up.marks() {
            let at = y(mark);
            body += &format!("<path d='M{LEFT} {at:.1}h{WIDTH}' stroke='#ddd'/>");
            body += &text(LEFT - 6.0, at + 4.0, "end", "m", &short(mark));
        }
        for (index, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let path: Vec<String> = line.points.iter().map(|(a, b)| format!("{:.1} {:.1}", x(*a), y(*b))).collect();
            body += &format!("<path d='M{}' fill='none' stroke='{colour}' stroke-width='2'/>", path.join("L"));
            for (a, b) in &line.points {
                body += &format!("<circle cx='{:.1}' cy='{:.1}' r='3' fill='{colour}'/>", x(*a), y(*b));
            }
            #[expect(clippy::cast_precision_loss, reason = "a few lines")]
            let at = TOP + 16.0 * (index + 1) as f64;
            body += &format!("<path d='M{} {}h18' stroke='{colour}' stroke-width='3'/>", LEFT + 10.0, at - 4.0);
            body += &text(LEFT + 34.0, at, "start", "", &line.name);
        }
        body += &text(LEFT, 22.0, "start", "t", self.title);
        body += &text(LEFT + WIDTH, TOP + HEIGHT + 34.0, "end", "", self.across);
        body += &text(LEFT + WIDTH, 22.0, "end", "m", self.up);
        framed(LEFT + WIDTH + 20.0, TOP + HEIGHT + 46.0, &body)
    }
}

/// Groups of bars below each other, each with a heading and the floor as a line.
pub fn bars(title: &str, groups: &[(String, f64, Vec<Bar>)]) -> String {
    const NAMES: f64 = 220.0;
    const STEP: f64 = 22.0;
    let mut body = text(10.0, 22.0, "start", "t", title);
    let mut at = 48.0;
    for (heading, floor, bars) in groups {
        let longest = bars.iter().map(|bar| bar.p95.max(bar.value)).fold(*floor, f64::max);
        // Half of the width is for one half of the servers: the slowest must not press the others to nothing.
        let scale = |value: f64| (value / longest).sqrt() * (WIDTH - 120.0);
        body += &text(10.0, at, "start", "t", heading);
        let begin = at + 8.0;
        at += STEP;
        for bar in bars {
            let (length, end) = (scale(bar.value), scale(bar.p95));
            let colour = COLOURS[usize::from(!bar.name.starts_with("testudo"))];
            body += &text(NAMES - 8.0, at + 4.0, "end", "", &bar.name);
            body += &format!("<rect x='{NAMES}' y='{}' width='{length:.1}' height='14' fill='{colour}'/>", at - 7.0);
            body += &format!("<path d='M{:.1} {at}H{:.1}' stroke='#222'/>", NAMES + length, NAMES + end.max(length));
            body += &text(NAMES + end.max(length) + 6.0, at + 4.0, "start", "m", &format!("{:.1} ms", bar.value));
            at += STEP;
        }
        let line = NAMES + scale(*floor);
        body += &format!("<path d='M{line:.1} {begin}V{}' stroke='#222' stroke-dasharray='4 3'/>", at - 8.0);
        body += &text(line, at + 4.0, "middle", "m", &format!("floor {floor:.1} ms"));
        at += 2.0 * STEP;
    }
    framed(NAMES + WIDTH + 20.0, at, &body)
}

struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Whole powers of ten around the values.
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = (low.max(1e-9).log10().floor(), high.max(1e-9).log10().ceil());
        Self { low, high: high.max(low + 1.0) }
    }

    fn share(&self, value: f64) -> f64 {
        (value.max(1e-9).log10() - self.low) / (self.high - self.low)
    }

    fn marks(&self) -> Vec<f64> {
        #[expect(clippy::cast_possible_truncation, reason = "powers of ten")]
        let (low, high) = (self.low as i32, self.high as i32);
        (low..=high).map(|power| 10_f64.powi(power)).collect()
    }
}

fn short(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{} G", v / 1e9),
        v if v >= 1e6 => format!("{} M", v / 1e6),
        v if v >= 1e3 => format!("{} k", v / 1e3),
        v => format!("{v}"),
    }
}

fn text(x: f64, y: f64, anchor: &str, class: &str, content: &str) -> String {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' class='{class}'>{content}</text>")
}

fn framed(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' width='{width:.0}'>{STYLE}<rect \
         width='100%' height='100%' fill='#fff'/>{}</svg>\n",
        body.replace("><", ">\n<")
    )
}
