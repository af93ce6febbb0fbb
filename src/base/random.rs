//! Randomness from the kernel, for ids and nonces that must not be guessed.

/// `N` hexadecimal digits.
pub fn hex<const N: usize>() -> String {
    let mut bytes = [0_u8; N];
    let mut filled = 0;
    while filled < N {
        // The kernel's pool is always ready after boot; an interrupted call is simply repeated.
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes.iter().map(|byte| char::from_digit(u32::from(byte & 15), 16).unwrap_or('0')).collect()
}
