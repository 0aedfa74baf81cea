#!/usr/bin/env bash
# demo.sh - `make demo`: a daemon in build/demo, the example trained by four workers, then a few lines on how to look
# around. The daemon is left running; the last lines say how to stop it.
set -euo pipefail
cd "$(dirname "$0")/.."
export MUSTER_HOME=$PWD/build/demo
PATH=$PWD/build/venv/bin:$PATH
muster=build/muster

$muster down >/dev/null 2>&1 || true
rm -rf examples/ddp/out
$muster up --detach --listen "${MUSTER_DEMO_LISTEN:-127.0.0.1:7447}"
$muster run --replace examples/ddp/job.yaml

cat <<TEXT

The job is done; its daemon is still running. Look around:

  export MUSTER_HOME=$MUSTER_HOME KUBECONFIG=$MUSTER_HOME/kubeconfig
  build/muster ps                          jobs, and why they are where they are
  build/muster logs ddp --replica worker-0
  kubectl get pytorchtrainingjobs,pods     any kubectl works
  kubectl describe pytorchtrainingjob ddp
  build/muster down                        stops the control plane

The console, signed in (the address is good once; build/muster console prints another):

  $($muster console 2>/dev/null | grep -o 'http://[^ ]*' | head -n 1)
TEXT
