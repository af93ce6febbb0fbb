use super::Format::{Assignments, Bundler, Json, Toml, Xml, Yaml};
use super::*;

/// What stays and what goes. Every file has the credential `s3cret`, in one form or another.
#[test]
fn credentials_go_and_settings_stay() {
    let rows: &[(Format, &str, &[&str])] = &[
        (
            Assignments,
            "registry=https://npm.corp.example/\n//npm.corp.example/:_authToken=s3cret\n@corp:registry=https://n.example/\n",
            &["registry=https://npm.corp.example/\n", "@corp:registry=https://n.example/\n"],
        ),
        (Assignments, "_auth=s3cret\nalways-auth=true\nemail=a@b\n", &["always-auth=true\n", "email=a@b\n"]),
        (Assignments, "//r/:_password = \"s3cret\"\n//r/:username=me\n; _auth=s3cret\nfund=false\n", &["fund=false"]),
        (Assignments, "key=\"-----BEGIN KEY-----\\ns3cret\"\ncafile=/etc/ca.pem\n", &["cafile=/etc/ca.pem"]),
        (Assignments, "\"//r/:_authToken\" \"s3cret\"\nregistry \"https://y.example/\"\n", &["https://y.example/"]),
        (
            Assignments,
            "[global]\nindex-url = https://me:s3cret@pypi.corp.example/simple\nextra-index-url =\n    https://s3cret@two.example/simple\n",
            &["[global]\nindex-url = https://pypi.corp.example/simple\n", "    https://two.example/simple\n"],
        ),
        (
            Assignments,
            "[pypi]\nrepository: https://p.example/\nusername: __token__\npassword: s3cret\n  s3cret\n[other]\n",
            &["repository: https://p.example/\n", "[other]"],
        ),
        (
            Assignments,
            "org.gradle.jvmargs=-Xmx2g -Djavax.net.ssl.trustStorePassword=s3cret -Da=b\nnexusPassword=s3\\\n  s3cret\nmaven.url=https://m.example/\n",
            &["org.gradle.jvmargs=-Xmx2g", "-Da=b\n", "maven.url=https://m.example/"],
        ),
        (Assignments, "GOPROXY=https://u:s3cret@go.example,direct\n", &["GOPROXY=https://go.example,direct"]),
        (
            Assignments,
            "user = \"me:s3cret\"\nheader = \"Authorization: Bearer s3cret\"\nproxy = http://p:1\n",
            &["proxy = http://p:1"],
        ),
        (
            Json,
            "{\"auths\": {\"reg.example\": {\"auth\": \"s3cret\"}}, \"credsStore\": \"x\", \"HttpHeaders\": {\"Authorization\": \"s3cret\"}, \"proxies\": {\"default\": {\"httpProxy\": \"http://u:s3cret@proxy:3128\"}}}",
            &["reg.example", "http://proxy:3128"],
        ),
        (Assignments, "s3cret\nsave-exact=true\n", &["save-exact=true"]),
        (
            Toml,
            "[registries.corp]\nindex = \"sparse+https://c.example/\"\ntoken = \"s3cret\"\n[net]\noffline = true\n",
            &["sparse+https://c.example/", "offline = true"],
        ),
        (Toml, "[install]\nregistry = { url = \"https://r.example\", token = \"s3cret\" }\n", &["https://r.example"]),
        (
            Toml,
            "[[index]]\nurl = \"https://me:s3cret@i.example/simple\"\nauthenticate = \"always\"\n",
            &["https://i.example/simple", "authenticate"],
        ),
        (Toml, "# token = \"s3cret\"\n[build]\njobs = 2\n", &["jobs = 2"]),
        (Toml, "broken = = \ntoken = \"s3cret\"\nurl = \"https://u.example\"\n", &["https://u.example"]),
        (
            Yaml,
            "npmRegistryServer: \"https://y.example\"\nnpmAuthToken: s3cret\nnpmAlwaysAuth: true\nnpmRegistries:\n  //y.example:\n    npmAuthIdent: \"me:s3cret\"\n",
            &["https://y.example", "npmAlwaysAuth: true", "//y.example:"],
        ),
        (
            Yaml,
            "npmScopes: {a: {npmAuthToken: \"s3cret\", npmRegistryServer: \"https://s.example\"}}\n",
            &["https://s.example"],
        ),
        (Yaml, "channels:\n  - https://conda.example/t/s3cret/main\n", &["https://conda.example/main"]),
        (
            Bundler,
            "---\nBUNDLE_GEMS__CORP__EXAMPLE: \"me:s3cret\"\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"https://g.example\"\nBUNDLE_JOBS: \"4\"\n",
            &["https://g.example", "BUNDLE_JOBS: \"4\""],
        ),
        (
            Xml,
            "<settings><mirrors><mirror><url>https://me:s3cret@m.example/</url></mirror></mirrors><servers><server><id>m</id><password>s3cret</password></server></servers><!-- <password>s3cret</password> --></settings>",
            &["<url>https://m.example/</url>", "<id>m</id></server>", "</settings>"],
        ),
        (
            Xml,
            "<configuration><packageSources><add key=\"corp\" value=\"https://n.example/v3\" /></packageSources><packageSourceCredentials><corp><add key=\"Username\" value=\"me\" /><add key=\"ClearTextPassword\" value=\"s3cret\" /></corp></packageSourceCredentials><apikeys><add key=\"x\" value=\"s3cret\"/></apikeys><config><add key='http_proxy.password' value='s3cret'/></config></configuration>",
            &["<add key=\"corp\" value=\"https://n.example/v3\" />", "<config></config></configuration>"],
        ),
    ];
    for (format, content, stays) in rows {
        let Cleaned::Without(cleaned) = clean(*format, content) else { panic!("nothing was taken out of {content}") };
        assert!(!cleaned.contains("s3cret"), "{content}\n->\n{cleaned}");
        for part in *stays {
            assert!(cleaned.contains(part), "{part} is missing:\n{content}\n->\n{cleaned}");
        }
        assert_eq!(clean(*format, &cleaned), Cleaned::Unchanged, "cleaned twice: {cleaned}");
    }
}

#[test]
fn a_file_without_credentials_is_not_changed() {
    for (format, content) in [
        (Assignments, "# a comment\nregistry=https://npm.corp.example/\nsave-exact=true\nssh=ssh://git@h.example/x\n"),
        (Json, "{ \"b\": 1,\n  \"a\": [\"x\"] }"),
        (Toml, "# linker\n[target.x86_64-unknown-linux-gnu]\nlinker = \"clang\"   # fast\n"),
        (Yaml, "nodeLinker: node-modules\n"),
        (Xml, "<settings><localRepository>/x</localRepository></settings>\n"),
        (Bundler, "---\nBUNDLE_PATH: \"vendor\"\n"),
        (Assignments, ""),
        (Json, ""),
    ] {
        assert_eq!(clean(format, content), Cleaned::Unchanged, "{content}");
    }
}

#[test]
fn tokens_of_known_services_go_wherever_they_are() {
    let cleaned = clean(Assignments, "note=ghp_0123456789abcdefghijABCDEFGHIJ012345\n");
    assert_eq!(cleaned, Cleaned::Without("note=\n".to_owned()));
}

#[test]
fn a_file_that_is_something_else_is_not_shown() {
    for (format, content) in [(Json, "s3cret"), (Json, "{\"a\": 1, // x\n}"), (Xml, "s3cret")] {
        assert_eq!(clean(format, content), Cleaned::Unreadable, "{content}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_cleaned_without_a_panic(content: String) {
        for format in ALL {
            let _ = clean(format, &content);
        }
    }
}
