//! GPU models: one short name for each.

/// `NVIDIA-A100-SXM4-80GB` is `a100-sxm4-80gb`, `Tesla-V100` is `v100`: as the driver's names are shortened elsewhere.
pub(crate) fn short_name(product: &str) -> String {
    let words = product.split(|c: char| c == '-' || c == '_' || c.is_whitespace()).map(str::to_lowercase);
    let kept: Vec<String> = words
        .filter(|word| !word.is_empty() && !["nvidia", "tesla", "geforce"].contains(&word.as_str()))
        .collect();
    kept.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makers_are_left_out_of_names() {
        assert_eq!(short_name("NVIDIA-A100-SXM4-80GB"), "a100-sxm4-80gb");
        assert_eq!(short_name("Tesla-V100-SXM2-16GB"), "v100-sxm2-16gb");
        assert_eq!(short_name("h200"), "h200");
    }
}
