//! All clients. This state is process-wide because the SDK may make a new handler for each request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::{Client, ClientId};

use crate::base::locks::LockExt;

#[derive(Debug, Default)]
pub struct Clients {
    all: Mutex<HashMap<ClientId, Arc<Client>>>,
}

impl Clients {
    /// The only client of a stdio server.
    pub fn local(&self) -> Arc<Client> {
        self.get_or_add(ClientId::Local, "local")
    }

    pub fn get(&self, id: &ClientId) -> Option<Arc<Client>> {
        self.lock().get(id).cloned()
    }

    pub fn get_or_add(&self, id: ClientId, principal: &str) -> Arc<Client> {
        self.lock().entry(id.clone()).or_insert_with(|| Arc::new(Client::new(id, principal))).clone()
    }

    pub fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    /// How many protocol sessions this principal has.
    pub fn protocol_sessions_of(&self, principal: &str) -> usize {
        let has_session = |client: &&Arc<Client>| matches!(client.id(), ClientId::ProtocolSession(_));
        self.lock().values().filter(has_session).filter(|client| client.principal() == principal).count()
    }

    /// Forgets a client and ends its sessions. Returns whether there was one.
    pub async fn end(&self, id: &ClientId) -> bool {
        let Some(client) = self.lock().remove(id) else { return false };
        client.end().await;
        true
    }

    /// Ends the clients that have been idle for the limit, and returns them.
    pub async fn end_idle(&self, limit: Duration) -> Vec<Arc<Client>> {
        let idle: Vec<Arc<Client>> = {
            let mut all = self.lock();
            all.extract_if(|_, client| client.idle().is_some_and(|idle| idle >= limit))
                .map(|(_, client)| client)
                .collect()
        };
        futures::future::join_all(idle.iter().map(|client| client.end())).await;
        idle
    }

    pub async fn end_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        futures::future::join_all(all.values().map(|client| client.end())).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, Arc<Client>>> {
        self.all.locked()
    }
}
