//! A headless Chromium, driven by the WebDriver protocol through Debian's chromedriver.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::Agent;

/// A browser with one window; it ends with this.
pub(crate) struct Browser {
    driver: Child,
    agent: Agent,
    session: String,
}

impl Browser {
    /// Starts a browser; none where there is no chromedriver on the PATH.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let spawned = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = spawned else {
            corun_testing::skip("browser", &format!("{test}: chromedriver is not installed"));
            return None;
        };
        let output = BufReader::new(driver.stdout.take().expect("it is piped"));
        let port = output.lines().map_while(Result::ok).find_map(|line| {
            let port = line.split("started successfully on port ").nth(1)?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("chromedriver says its port");
        let agent = Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut browser =
            Self { driver, agent, session: format!("http://127.0.0.1:{port}/session") };
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--force-device-scale-factor=1", "--hide-scrollbars"
            ] },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" }
        } } });
        let session = browser.post("", &capabilities);
        let id = session["sessionId"].as_str().expect("a session").to_owned();
        browser.session = format!("{}/{id}", browser.session);
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let request = self.agent.post(&url).header("content-type", "application/json");
        let mut answer = request.send(body.to_string()).expect("chromedriver answers");
        let text =
            answer.body_mut().with_config().limit(100_000_000).read_to_string().expect("text");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert!(answer["value"].get("error").is_none(), "{path}: {answer}");
        answer["value"].clone()
    }

    /// Opens a file.
    pub(crate) fn open(&self, page: &Path) {
        self.post("/url", &json!({ "url": format!("file://{}", page.display()) }));
    }

    /// Result of the body of a function.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// A command of the DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// The entries of a log since it was asked for last.
    pub(crate) fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.post("/se/log", &json!({ "type": kind }));
        log.as_array().expect("a list").clone()
    }

    /// Gives the window this width, and light or dark.
    pub(crate) fn look(&self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": feature }));
    }

    /// Number of sides that the page takes on paper.
    pub(crate) fn printed_sides(&self) -> usize {
        let printed = self.devtools("Page.printToPDF", &json!({ "preferCSSPageSize": true }));
        let pdf = STANDARD.decode(printed["data"].as_str().expect("a document")).expect("base64");
        let text = String::from_utf8_lossy(&pdf);
        let pages = text
            .match_indices("/Type /Page")
            .filter(|(at, name)| !text[at + name.len()..].starts_with('s'));
        pages.count()
    }

    /// The whole page as a PNG, in base64.
    pub(crate) fn screenshot(&self) -> String {
        let whole = json!({ "format": "png", "captureBeyondViewport": true });
        let shot = self.devtools("Page.captureScreenshot", &whole);
        shot["data"].as_str().expect("a picture").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser; its driver is ours.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
