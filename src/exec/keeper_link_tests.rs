use super::*;
use crate::sandbox::home::Home;

/// The keeper's fate if the guard reports a home without a layer, for the reason with this error number.
async fn told(errno: i32) -> Result<Option<String>, KeeperError> {
    let (ours, theirs) = Socket::pair().unwrap();
    let failed = Some(Failed { errno, reason: "why".to_owned() });
    let report = HomeReport { state: State::ReadOnly, is_new: false, failed };
    rustix::net::send(&theirs, &report.encode(), rustix::net::SendFlags::empty()).unwrap();
    let mut profile = Profile { level: Level::Full, home: Some(Home::default()), ..Profile::default() };
    learn_about_home(&ours, &mut profile, None).await
}

#[tokio::test]
async fn a_home_that_fails_for_a_shortage_is_tried_again_and_any_other_is_given_up() {
    for errno in [libc::EMFILE, libc::ENFILE, libc::EAGAIN, libc::ENOMEM] {
        let error = told(errno).await.unwrap_err();
        assert!(error.may_pass() && error.advice().is_some(), "{error}");
    }
    for errno in [libc::EINVAL, libc::EPERM, 0] {
        assert_eq!(told(errno).await.unwrap().as_deref(), Some("why"));
    }
}
