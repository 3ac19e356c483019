//! One result, and how results are shown.

use serde_json::{Value, json};

/// A measurement beside its floor.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) tiller: f64,
    pub(super) floor: f64,
    pub(super) goal: Option<Goal>,
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Micros,
    Millis,
    Megabytes,
    Times,
    Percent,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// In its own unit.
    AtMost(f64),
    /// As a multiple of the floor.
    RatioAtMost(f64),
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Micros => "µs",
            Self::Millis => "ms",
            Self::Megabytes => "MB",
            Self::Times => "×",
            Self::Percent => "%",
        }
    }

    fn show(self, value: f64) -> String {
        format!("{value:.2} {}", self.name())
    }
}

impl Figure {
    /// None where the floor is nothing.
    fn ratio(&self) -> Option<f64> {
        (self.floor > 0.0).then_some(self.tiller / self.floor)
    }

    fn is_met(&self) -> Option<bool> {
        self.goal.map(|goal| match goal {
            Goal::AtMost(most) => self.tiller <= most,
            Goal::RatioAtMost(most) => self.ratio().is_some_and(|ratio| ratio <= most),
        })
    }

    fn show_goal(&self) -> String {
        let text = match self.goal {
            None => return String::new(),
            Some(Goal::AtMost(most)) => format!("≤ {most} {}", self.unit.name()),
            Some(Goal::RatioAtMost(most)) => format!("≤ {most} × floor"),
        };
        let verdict = if self.is_met() == Some(true) { "met" } else { "missed" };
        format!("{text}: {verdict}")
    }

    fn row(&self) -> [String; 5] {
        [
            self.name.clone(),
            self.unit.show(self.tiller),
            self.unit.show(self.floor),
            self.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
            self.show_goal(),
        ]
    }

    fn json(&self) -> Value {
        let (goal, of) = match self.goal {
            None => (None, None),
            Some(Goal::AtMost(most)) => (Some(most), Some("tiller")),
            Some(Goal::RatioAtMost(most)) => (Some(most), Some("ratio")),
        };
        json!({
            "name": self.name, "unit": self.unit.name(), "tiller": self.tiller, "floor": self.floor,
            "ratio": self.ratio(), "goal": goal, "goal_of": of, "met": self.is_met(),
        })
    }
}

/// All figures as aligned lines.
pub(super) fn table(figures: &[Figure]) -> String {
    let head = ["", "Tiller", "floor", "ratio", "goal"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(figures.iter().map(Figure::row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let line = |row: &[String; 5]| {
        let [name, tiller, floor, ratio, goal] = row;
        let [n, t, f, r, _] = widths;
        format!("{name:<n$}  {tiller:>t$}  {floor:>f$}  {ratio:>r$}  {goal}").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// All figures for programs.
pub(super) fn json(figures: &[Figure]) -> String {
    Value::Array(figures.iter().map(Figure::json).collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, unit: Unit, goal: Goal) -> Figure {
        Figure { name: name.to_owned(), unit, tiller: 10.0, floor: 2.5, goal: Some(goal) }
    }

    fn figures() -> [Figure; 2] {
        [
            figure("start", Unit::Millis, Goal::AtMost(25.0)),
            figure("growth", Unit::Times, Goal::RatioAtMost(2.0)),
        ]
    }

    #[test]
    fn columns_are_aligned_and_goals_judged() {
        assert_eq!(
            table(&figures()),
            "          Tiller    floor  ratio  goal\n\
             start   10.00 ms  2.50 ms   4.00  ≤ 25 ms: met\n\
             growth   10.00 ×   2.50 ×   4.00  ≤ 2 × floor: missed"
        );
    }

    #[test]
    fn programs_get_numbers() {
        let value: Value = serde_json::from_str(&json(&figures())).unwrap();
        assert_eq!((&value[0]["ratio"], &value[0]["met"]), (&json!(4.0), &json!(true)));
        assert_eq!((&value[1]["goal_of"], &value[1]["met"]), (&json!("ratio"), &json!(false)));
    }
}
