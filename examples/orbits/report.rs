//! The table of measured and published periods, and the verdict on them.

use std::fmt::Write as _;

/// What the almanac knows of one planet beside what is published.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) orbits: u32,
    /// When the last of them was completed, in days after the start.
    pub(crate) last_day: f64,
    /// The published sidereal period in days.
    pub(crate) published: f64,
}

impl Row {
    /// The mean sidereal period of all completed orbits, in days.
    fn measured(&self) -> Option<f64> {
        (self.orbits > 0).then(|| self.last_day / f64::from(self.orbits))
    }

    fn difference(&self) -> Option<f64> {
        self.measured()
            .map(|measured| measured / self.published - 1.0)
    }

    /// How far the measured period may be from the published one. The elements are means over two and a half centuries
    /// and are taken here for those of one instant, which costs the outer planets most, Saturn seven tenths of a
    /// percent; the two outermost are shown, not judged.
    fn limit(&self) -> Option<f64> {
        match self.name.as_str() {
            "Mercury" | "Venus" | "Earth" | "Mars" => Some(0.001),
            "Jupiter" | "Saturn" => Some(0.01),
            _ => None,
        }
    }

    /// A planet that had no time to come round is not judged; one that had the time must have used it.
    fn is_right(&self, days: f64) -> bool {
        let Some(limit) = self.limit() else {
            return true;
        };
        match self.difference() {
            Some(difference) => difference.abs() < limit,
            None => days < self.published * (1.0 + limit),
        }
    }
}

/// The table as text, and whether every row is right after a run of `days`.
pub(crate) fn table(rows: &[Row], days: f64) -> (String, bool) {
    let mut text = String::from(
        "planet    orbits  measured period  published period  difference    limit\n\
         -------  -------  ---------------  ----------------  ----------  -------\n",
    );
    let mut all_right = true;
    for row in rows {
        let number = |value: Option<f64>, unit: &str, decimals: usize| {
            value.map_or_else(
                || "-".to_owned(),
                |value| format!("{value:.decimals$} {unit}"),
            )
        };
        let difference = row.difference().map_or_else(
            || "-".to_owned(),
            |difference| format!("{:+.4} %", difference * 100.0),
        );
        let measured = number(row.measured(), "d", 3);
        let published = number(Some(row.published), "d", 3);
        let limit = number(row.limit().map(|limit| limit * 100.0), "%", 1);
        let right = row.is_right(days);
        let remark = if right { "" } else { "  TOO FAR" };
        let (name, orbits) = (&row.name, row.orbits);
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "{name:<7}  {orbits:>7}  {measured:>15}  {published:>16}  {difference:>10}  {limit:>7}{remark}"
        );
        all_right &= right;
    }
    (text, all_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, orbits: u32, last_day: f64, published: f64) -> Row {
        Row {
            name: name.into(),
            orbits,
            last_day,
            published,
        }
    }

    #[test]
    fn a_period_is_judged_by_its_planets_limit() {
        assert!(row("Mars", 10, 6_875.0, 687.0).is_right(1e4));
        assert!(!row("Mars", 10, 6_880.0, 687.0).is_right(1e4));
        assert!(row("Saturn", 1, 10_800.0, 10_759.22).is_right(1e5));
        assert!(!row("Saturn", 1, 10_900.0, 10_759.22).is_right(1e5));
        assert!(row("Neptune", 1, 9.0, 60_189.0).is_right(1e5));
    }

    #[test]
    fn an_orbit_is_missed_only_when_there_was_time_for_it() {
        assert!(row("Jupiter", 0, 0.0, 4_332.589).is_right(4_000.0));
        assert!(!row("Jupiter", 0, 0.0, 4_332.589).is_right(5_000.0));
    }

    #[test]
    fn the_columns_stand_under_their_titles() {
        let rows = [
            row("Mercury", 4, 352.0, 88.0),
            row("Neptune", 0, 0.0, 60_189.0),
        ];
        let (text, right) = table(&rows, 400.0);
        assert!(right);
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        let (text, right) = table(&[row("Venus", 1, 300.0, 224.701)], 400.0);
        assert!(!right && text.contains("TOO FAR"));
    }
}
