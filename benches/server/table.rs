//! The results beside the promises.

/// One line of the table.
pub struct Row {
    pub server: String,
    pub name: String,
    /// The error is shown in place of the figure.
    pub result: anyhow::Result<Figure>,
    pub target: Option<Target>,
}

/// A value, and the floor it is compared with.
#[derive(Clone, Copy)]
pub struct Figure {
    pub value: f64,
    pub unit: &'static str,
    pub p95: Option<f64>,
    pub floor: Option<f64>,
    pub ratio: Option<f64>,
}

/// A promise from section 11 of the contract.
#[derive(Clone, Copy)]
pub enum Target {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    ValueAtMost(f64),
}

impl Figure {
    pub fn alone(value: f64, unit: &'static str) -> Self {
        Self { value, unit, p95: None, floor: None, ratio: None }
    }

    pub fn over(value: f64, floor: f64, unit: &'static str) -> Self {
        Self { floor: Some(floor), ratio: Some(value / floor), ..Self::alone(value, unit) }
    }

    #[must_use]
    pub fn with_p95(self, p95: f64) -> Self {
        Self { p95: Some(p95), ..self }
    }

    /// The value with its unit.
    pub fn text(&self) -> String {
        quantity(self.value, self.unit)
    }

    pub fn floor_text(&self) -> String {
        self.floor.map(|floor| quantity(floor, self.unit)).unwrap_or_default()
    }

    pub fn ratio_text(&self) -> String {
        self.ratio.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default()
    }

    pub fn p95_text(&self) -> String {
        self.p95.map(|p95| quantity(p95, self.unit)).unwrap_or_default()
    }
}

impl Target {
    pub fn text(self) -> String {
        match self {
            Self::RatioAtMost(limit) => format!("≤ {limit}×"),
            Self::RatioAtLeast(limit) => format!("≥ {limit}×"),
            Self::ValueAtMost(limit) => format!("≤ {limit}"),
        }
    }

    pub fn met(self, figure: &Figure) -> bool {
        match self {
            Self::RatioAtMost(limit) => figure.ratio.is_some_and(|ratio| ratio <= limit),
            Self::RatioAtLeast(limit) => figure.ratio.is_some_and(|ratio| ratio >= limit),
            Self::ValueAtMost(limit) => figure.value <= limit,
        }
    }
}

const HEADINGS: [&str; 8] = ["server", "measure", "value", "p95", "floor", "ratio", "target", ""];

/// Each column is as wide as its widest cell; numbers are aligned to the right.
pub fn render(rows: &[Row]) -> String {
    let lines: Vec<[String; 8]> = [HEADINGS.map(str::to_owned)].into_iter().chain(rows.iter().map(cells)).collect();
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in &lines {
        let padded = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if (2..7).contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn cells(row: &Row) -> [String; 8] {
    let target = row.target.map(Target::text).unwrap_or_default();
    let named = |[value, p95, floor, ratio]: [String; 4], verdict| {
        [row.server.clone(), row.name.clone(), value, p95, floor, ratio, target.clone(), verdict]
    };
    match &row.result {
        Ok(figure) => named(
            [figure.text(), figure.p95_text(), figure.floor_text(), figure.ratio_text()],
            row.target.map_or("", |target| if target.met(figure) { "ok" } else { "OVER" }).to_owned(),
        ),
        Err(error) => {
            let mut reason = format!("failed: {error:#}").replace('\n', " ");
            reason.truncate(reason.floor_char_boundary(160));
            named(["–".to_owned(), String::new(), String::new(), String::new()], reason)
        }
    }
}

fn quantity(value: f64, unit: &str) -> String {
    let digits = if value.abs() >= 100.0 { 0 } else { 2 };
    format!("{value:.digits$} {unit}")
}
