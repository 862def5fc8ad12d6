//! Whether the API server answers a fresh connection while every watch fails: then a restart may help.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use slice_controller::BoxError;
use tokio::time::Instant;

use super::{CommonArgs, client_config};
use crate::{
    Health, RunOptions,
    client::ApiClient,
    run::{REQUEST_TIMEOUT, slices_watch},
    watch::ListWatch,
};

/// The time between two attempts.
const PROBE_INTERVAL: Duration = Duration::from_secs(30);

/// While every watch fails for long, tries fresh connections and records those that are answered.
pub(super) async fn probe(health: Arc<Health>, fresh_connection: impl Fn() -> BoxFuture<'static, bool>) {
    loop {
        tokio::time::sleep(PROBE_INTERVAL).await;
        if health.needs_fresh_connection(Instant::now().into_std()) && fresh_connection().await {
            health.record_answer();
        }
    }
}

/// Loads the client configuration as a restarted program would, and lists one of our slices by a new connection. An error response
/// is no answer: a restart does not grant a permission.
pub(super) fn fresh_connection(
    common: &CommonArgs,
    options: &RunOptions,
    user_agent: String,
) -> impl Fn() -> BoxFuture<'static, bool> + use<> {
    let (common, options) = (common.clone(), options.clone());
    move || {
        let (common, options, user_agent) = (common.clone(), options.clone(), user_agent.clone());
        let attempt = async move {
            let config = client_config::load(&common.kubeconfig, &common.master, &user_agent).await?;
            let arguments = (common.kubeconfig.clone(), common.master.clone(), user_agent);
            let connections = client_config::connections(config, common.connection_options(), arguments)?;
            let api = ApiClient::new(connections, REQUEST_TIMEOUT, None);
            let slices = ListWatch::new(&slices_watch(&options.managed_by), &options.namespace);
            api.call(slices.probe(None)).await?;
            Ok::<_, BoxError>(())
        };
        attempt.map(|result| result.is_ok()).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        num::NonZeroUsize,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use apisim::{faults::Rule, request::Verb};
    use service_slices::controller::{Config, ServiceController};
    use testenv::SimServer;

    use super::*;
    use crate::{
        Metrics,
        health::Liveness,
        program::{DefaultArgs, ProgramInfo, flags},
    };

    fn options() -> RunOptions {
        RunOptions::new("us", "us")
    }

    fn liveness(health: &Health) -> Liveness {
        // The loop of the controller turns.
        health.record_turn();
        health.liveness(Instant::now().into_std())
    }

    #[tokio::test(start_paused = true)]
    async fn fresh_connections_are_tried_only_while_every_watch_fails_for_long() {
        let (health, attempts) = (Arc::<Health>::default(), Arc::<AtomicUsize>::default());
        let answered = Arc::<AtomicUsize>::default();
        let (pods, nodes) = (health.add("pods"), health.add("nodes"));
        let fresh_connection = {
            let (attempts, answered) = (Arc::clone(&attempts), Arc::clone(&answered));
            move || {
                attempts.fetch_add(1, Ordering::Relaxed);
                let answered = answered.load(Ordering::Relaxed) > 0;
                async move { answered }.boxed()
            }
        };
        let task = tokio::spawn(probe(Arc::clone(&health), fresh_connection));
        pods.set_error("broken");
        tokio::time::sleep(Duration::from_secs(700)).await;
        nodes.set_error("broken");
        tokio::time::sleep(Duration::from_secs(590)).await;
        assert_eq!(attempts.load(Ordering::Relaxed), 0);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(attempts.load(Ordering::Relaxed) > 0);
        assert_eq!(liveness(&health), Liveness::Live, "the API server does not answer");
        answered.store(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(matches!(liveness(&health), Liveness::WatchesFail(_)));
        nodes.set_synced();
        assert_eq!(liveness(&health), Liveness::Live);
        task.abort();
    }

    #[tokio::test]
    async fn a_fresh_connection_is_answered_if_slices_can_be_listed() {
        let server = SimServer::start().await.unwrap();
        let info = ProgramInfo::new("us", "1", "us");
        let args: DefaultArgs = flags::parse(&info, ["us", &server.flag()]).unwrap();
        let probe = fresh_connection(&args.common, &options(), "us/1".to_owned());
        assert!(probe().await);
        let denied = server.faults.add(Rule::on(Verb::List, "endpointslices").answer(403));
        assert!(!probe().await);
        assert_eq!(denied.hits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_loop_of_a_running_controller_turns_without_events() {
        let controller = ServiceController::new(Config {
            managed_by: "us".to_owned(),
            max_endpoints_per_slice: NonZeroUsize::MIN,
            batch_period: Duration::ZERO,
            service_selector: String::new(),
        });
        let (health, metrics) = (Arc::<Health>::default(), Arc::new(Metrics::new("us", "us")));
        let client = kube::Client::new(apisim::ApiSim::with_config(apisim::Config::default()), "default");
        let running = crate::run(
            controller,
            client,
            options(),
            Arc::clone(&health),
            metrics,
            std::future::pending(),
        );
        tokio::select! {
            result = running => panic!("{result:?}"),
            () = tokio::time::sleep(Duration::from_secs(300)) => {}
        }
        assert_eq!(health.liveness(Instant::now().into_std()), Liveness::Live);
    }
}
