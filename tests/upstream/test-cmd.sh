#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2034 # what is sourced is Kubernetes' own and uses these
# test-cmd.sh FUNCTION   one function of Kubernetes' test/cmd scripts, in the folder that test_cmd.py has laid out: the scripts
# start servers of their own and stop at the first failure, which this does not.
set -o errexit -o nounset -o pipefail
function_wanted=$1
KUBE_ROOT=$PWD
source hack/lib/init.sh
source hack/lib/test.sh
THIS_PLATFORM_BIN=$PWD/bin
source test/cmd/legacy-script.sh
kube::util::ensure-temp-dir
HOME=$KUBE_TEMP
export HOME
export SED=sed # looked for upstream with a pipe that fails under load
CONTEXT="test"
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"
SUPPORTED_RESOURCES=("*")

# In place of the one that writes reports: the functions set errexit themselves, which counts only outside of conditions.
record_command() {
    set +o nounset +o errexit
    ("$function_wanted")
    exit $?
}
WHAT=one ALLOW_SKEW=1
runTests
