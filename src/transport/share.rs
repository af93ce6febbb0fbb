/// How a limited number of things is shared by the holders of several tokens. Each may have as many as are still free. So
/// the first gets half of all at most, and however many tokens there are, some are left for the next one.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub most: usize,
    /// How many tokens there are. A single one may take all.
    pub principals: usize,
}

impl Share {
    /// Whether one more may be taken: `used` are taken in all, `own` of them by the one who asks.
    pub fn allows(self, used: usize, own: usize) -> bool {
        let free = self.most.saturating_sub(used);
        free > 0 && (self.principals <= 1 || own < free)
    }

    pub fn is_used_up(self, used: usize) -> bool {
        used >= self.most
    }
}
