/// The numbers of the descriptors over which the server and a shell talk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Numbers {
    /// A waiting shell gets its messages from it.
    pub go: i32,
    /// A text that is too long for an argument, or comes later.
    pub text: i32,
    pub prologue: i32,
    /// The shell reports its state on it.
    pub state: i32,
}

impl Numbers {
    /// For a shell that may have this many descriptors. The numbers have three digits if the limit allows it, because
    /// scripts use the small ones (`exec 9>lock`).
    pub fn below(limit: u64) -> Self {
        const USUAL: i32 = 252;
        let above = i32::try_from(limit).map_or(USUAL, |limit| limit.min(USUAL));
        Self { go: above - 4, text: above - 3, prologue: above - 2, state: above - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn they_are_below_the_limit() {
        let usual = Numbers { go: 248, text: 249, prologue: 250, state: 251 };
        for limit in [252, 1024, u64::MAX] {
            assert_eq!(Numbers::below(limit), usual, "{limit}");
        }
        assert_eq!(Numbers::below(24), Numbers { go: 20, text: 21, prologue: 22, state: 23 });
    }
}
