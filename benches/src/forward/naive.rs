//! The naive forwarder: tokio on one thread, a task for each upstream socket, await on everything.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use tokio::{net::UdpSocket, runtime, spawn};

use crate::net::{LARGEST, plain};

pub(super) fn run(listen: SocketAddr, target: SocketAddr) -> Result<()> {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(listen, target))
}

async fn serve(listen: SocketAddr, target: SocketAddr) -> Result<()> {
    let listen = Arc::new(UdpSocket::from_std(plain(listen)?)?);
    let mut upstreams: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut buffer = vec![0; LARGEST];
    loop {
        let Ok((len, client)) = listen.recv_from(&mut buffer).await else {
            continue;
        };
        let upstream = match upstreams.get(&client) {
            Some(upstream) => Arc::clone(upstream),
            None => {
                let upstream = Arc::new(UdpSocket::from_std(plain((Ipv4Addr::UNSPECIFIED, 0).into())?)?);
                upstream.connect(target).await?;
                upstreams.insert(client, Arc::clone(&upstream));
                spawn(back(Arc::clone(&upstream), Arc::clone(&listen), client));
                upstream
            }
        };
        // Like the network, the forwarder may drop datagrams.
        let _dropped = upstream.send(buffer.get(..len).unwrap_or_default()).await;
    }
}

async fn back(upstream: Arc<UdpSocket>, listen: Arc<UdpSocket>, client: SocketAddr) {
    let mut buffer = vec![0; LARGEST];
    loop {
        if let Ok(len) = upstream.recv(&mut buffer).await {
            let bytes = buffer.get(..len).unwrap_or_default();
            let _dropped = listen.send_to(bytes, client).await;
        }
    }
}
