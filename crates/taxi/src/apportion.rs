//! Whole numbers that add up: a total shared out by weights.

/// Shares `total` in proportion to `weights`: whole parts first, then one each to the largest remainders.
/// The parts add up to `total`; weights that are all zero share evenly.
pub(crate) fn apportion(total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let even = sum <= 0.0;
    let per_weight = total as f64 / if even { weights.len().max(1) as f64 } else { sum };
    let exact = |weight: &f64| if even { per_weight } else { weight * per_weight };
    let mut shares: Vec<u64> = weights.iter().map(|weight| exact(weight).floor() as u64).collect();
    let mut by_remainder: Vec<(f64, usize)> =
        weights.iter().enumerate().map(|(i, weight)| (exact(weight).fract(), i)).collect();
    by_remainder.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let left = total.saturating_sub(shares.iter().sum());
    for (_, index) in by_remainder.iter().cycle().take(left as usize) {
        shares[*index] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::apportion;

    #[test]
    fn shares_add_up_and_follow_the_weights() {
        assert_eq!(apportion(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(apportion(7, &[0.0, 0.0]), [4, 3]);
        assert_eq!(apportion(0, &[2.0, 5.0]), [0, 0]);
        let shares = apportion(9_716_237_726, &[0.3, 7.1, 2.9, 1e-9]);
        assert_eq!(shares.iter().sum::<u64>(), 9_716_237_726);
    }
}
