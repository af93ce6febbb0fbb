use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::StartOptions;

/// Answers every question as scripted and records the questions.
#[derive(Clone)]
pub struct Person {
    answer: Arc<Mutex<Value>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Person {
    pub fn new() -> Self {
        Self { answer: Arc::new(Mutex::new(choice("once"))), asked: Arc::default() }
    }

    pub fn will(&self, answer: Value) {
        *self.answer.lock().unwrap() = answer;
    }

    pub fn questions(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The parameters of a question; the first has index 0.
    pub fn question(&self, index: usize) -> Value {
        self.asked.lock().unwrap()[index].clone()
    }

    pub fn options(&self) -> StartOptions {
        let person = self.clone();
        StartOptions {
            capabilities: json!({"elicitation": {"form": {}}}),
            answers: Arc::new(move |method, params| {
                assert_eq!(method, "elicitation/create");
                person.asked.lock().unwrap().push(params.clone());
                Some(person.answer.lock().unwrap().clone())
            }),
            ..StartOptions::default()
        }
    }
}

pub fn choice(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}
