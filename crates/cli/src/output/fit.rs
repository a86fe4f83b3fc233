//! Which columns of a table a terminal has room for, and how wide each may be.

/// A column isn't made narrower than this: a point in time can be read.
const MIN_WIDTH: usize = 20;

/// What a column takes beside its text: `| text `.
const FRAME: usize = 3;

/// What stands for the columns that are left out.
pub const GAP: &str = "\u{2026}";

/// One column as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A column, by its index, and its width.
    Column(usize, usize),
    /// The columns in the middle that there is no room for.
    Gap,
}

impl Slot {
    /// The width of its text.
    pub fn width(self) -> usize {
        match self {
            Self::Column(_, width) => width,
            Self::Gap => 1,
        }
    }
}

/// What a column would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// The width of its widest text.
    pub width: usize,
    /// What it isn't made narrower than: a number that is cut says something wrong.
    pub least: usize,
}

impl Want {
    /// The width under a cap.
    fn capped(self, cap: usize) -> usize {
        self.width.min(cap.max(self.least))
    }
}

/// Lays columns into `room`: as they are, else the wide ones narrower, else the ones in the middle
/// left out.
pub fn fit(wants: &[Want], room: usize) -> Vec<Slot> {
    let widest = wants.iter().map(|want| want.width).max().unwrap_or(0);
    let capped = |cap: usize| wants.iter().map(move |want| want.capped(cap));
    let total = |cap: usize| 1 + capped(cap).map(|width| width + FRAME).sum::<usize>();
    if total(widest) <= room {
        return columns(capped(widest).enumerate());
    }
    let caps = MIN_WIDTH..widest.min(room);
    match caps.rev().find(|&cap| total(cap) <= room) {
        Some(cap) => columns(capped(cap).enumerate()),
        None => outer(&capped(MIN_WIDTH).collect::<Vec<_>>(), room),
    }
}

fn columns(widths: impl Iterator<Item = (usize, usize)>) -> Vec<Slot> {
    widths.map(|(index, width)| Slot::Column(index, width)).collect()
}

/// Columns from both ends, as many as there is room for beside the gap; always the first.
fn outer(widths: &[usize], room: usize) -> Vec<Slot> {
    let (mut left, mut right) = (0, widths.len());
    let mut used = 1 + FRAME + Slot::Gap.width();
    while left < right {
        let from_left = left <= widths.len() - right;
        let next = if from_left { left } else { right - 1 };
        used += widths[next] + FRAME;
        if used > room && left > 0 {
            break;
        }
        if from_left { left += 1 } else { right -= 1 }
    }
    let mut slots = columns(widths.iter().copied().enumerate());
    slots.splice(left..right, [Slot::Gap]);
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<const N: usize>(widths: [usize; N]) -> [Want; N] {
        widths.map(|width| Want { width, least: 0 })
    }

    fn total(slots: &[Slot]) -> usize {
        1 + slots.iter().map(|slot| slot.width() + FRAME).sum::<usize>()
    }

    #[test]
    fn what_fits_keeps_its_width() {
        assert_eq!(fit(&texts([3, 5]), 15), [Slot::Column(0, 3), Slot::Column(1, 5)]);
        assert_eq!(fit(&texts([]), 10), []);
    }

    #[test]
    fn the_wide_columns_give_way_first() {
        let slots = fit(&texts([3, 200, 50]), 80);
        assert_eq!(slots[0], Slot::Column(0, 3));
        assert_eq!(slots[1].width(), slots[2].width());
        assert!((78..=80).contains(&total(&slots)), "{slots:?}");
    }

    #[test]
    fn columns_in_the_middle_go_when_nothing_else_helps() {
        let slots = fit(&texts([25; 19]), 80);
        let shown: Vec<usize> = slots
            .iter()
            .filter_map(|slot| match slot {
                Slot::Column(index, _) => Some(*index),
                Slot::Gap => None,
            })
            .collect();
        assert_eq!(shown, [0, 1, 18]);
        assert_eq!(slots[2], Slot::Gap);
        assert!(total(&slots) <= 80, "{slots:?}");
    }

    #[test]
    fn however_narrow_the_first_column_is_there() {
        assert_eq!(fit(&texts([30, 20]), 5), [Slot::Column(0, MIN_WIDTH), Slot::Gap]);
    }

    #[test]
    fn a_number_is_never_narrowed_but_its_header_is() {
        let number = Want { width: 50, least: 39 };
        let text = Want { width: 60, least: 0 };
        assert_eq!(fit(&[text, number], 80), [Slot::Column(0, 34), Slot::Column(1, 39)]);
        assert_eq!(fit(&[number, text], 50), [Slot::Column(0, 39), Slot::Gap]);
    }
}
