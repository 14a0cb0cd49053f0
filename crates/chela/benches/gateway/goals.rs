//! What was measured beside what it should be.

/// The rows of the table, in their order.
#[derive(Debug, Default)]
pub struct GoalTable(Vec<GoalRow>);

#[derive(Debug)]
struct GoalRow {
    name: String,
    measured: String,
    goal: String,
    is_met: bool,
}

impl GoalTable {
    /// Something that may come to no more than this.
    pub fn at_most(&mut self, name: &str, measured: f64, most: f64, unit: &str) {
        self.0.push(GoalRow {
            name: name.to_owned(),
            measured: format!("{measured:.1} {unit}"),
            goal: format!("≤ {most:.0} {unit}"),
            is_met: measured <= most,
        });
    }

    pub fn at_least(&mut self, name: &str, measured: f64, least: f64, unit: &str) {
        self.0.push(GoalRow {
            name: name.to_owned(),
            measured: format!("{measured:.1} {unit}"),
            goal: format!("≥ {least:.0} {unit}"),
            is_met: measured >= least,
        });
    }

    /// What may not happen once.
    pub fn never(&mut self, name: &str, times: usize, of: usize) {
        self.0.push(GoalRow {
            name: name.to_owned(),
            measured: format!("{times} of {of}"),
            goal: "0".to_owned(),
            is_met: times == 0 && of > 0,
        });
    }

    pub fn print(&self) {
        println!("\n{:<46} {:>16} {:>12}", "", "measured", "goal");
        for row in &self.0 {
            let met = match row.is_met {
                true => "met",
                false => "MISSED",
            };
            println!(
                "{:<46} {:>16} {:>12}  {met}",
                row.name, row.measured, row.goal
            );
        }
    }

    pub fn are_met(&self) -> bool {
        self.0.iter().all(|row| row.is_met)
    }
}
