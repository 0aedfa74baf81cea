#!/usr/bin/python3
"""Kubernetes' own test/cmd scripts, from its Go module, against `muster up`: each function by itself, with a daemon that all of
them share as they do upstream.

    test_cmd.py [FUNCTION...]       prints a line each, and at the end how many passed; fails if one does that is not meant to

Needs the module in Go's cache and the kubectl built of it (tests/cluster/build-kube DIR kubectl)."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import harness  # noqa: E402

VERSION = os.environ.get("KUBE", "1.35.8")
PROGRAMS = pathlib.Path(os.environ.get("MUSTER_KUBE", os.path.expanduser("~/.cache/muster/kube")))
LIMIT_S = 120  # of one function

WORKLOADS = "needs the controllers of Deployments, ReplicaSets, StatefulSets or DaemonSets, which are refused"
# Those that are not meant to pass, and why.
MEANT = {
    "run_kubectl_apply_deployments_tests": WORKLOADS,
    "run_kubectl_create_kustomization_directory_tests": WORKLOADS,
    "run_kubectl_create_validate_tests": WORKLOADS,
    "run_convert_tests": "needs kubectl-convert, a program of its own",
    "run_recursive_resources_tests": WORKLOADS,
    "run_daemonset_tests": WORKLOADS,
    "run_daemonset_history_tests": WORKLOADS,
    "run_swagger_tests": "looks for sentences of Kubernetes' own descriptions in /openapi/v2",
    "run_save_config_tests": WORKLOADS,
    "run_kubectl_get_tests": WORKLOADS,
    "run_kubectl_create_error_tests": "wants YAML without a content type to be unreadable; here it is read, and its kind refused",
    "run_kubectl_apply_tests": WORKLOADS,
    "run_kubectl_diff_same_names": WORKLOADS,
    "run_template_output_tests": WORKLOADS,
    "run_pod_tests": "ends with a ReplicationController, which is refused",
    "run_rc_tests": WORKLOADS,
    "run_deployment_tests": WORKLOADS,
    "run_rs_tests": WORKLOADS,
    "run_stateful_set_tests": WORKLOADS,
    "run_statefulset_history_tests": WORKLOADS,
    "run_lists_tests": WORKLOADS,
    "run_multi_resources_tests": WORKLOADS,
    "run_resource_aliasing_tests": WORKLOADS,
    "run_wait_tests": WORKLOADS,
}


def module():
    """The folder of Kubernetes' module."""
    done = subprocess.run(["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cannot get Kubernetes {VERSION} as a Go module: {done.stdout}{done.stderr}")
    return pathlib.Path(json.loads(done.stdout)["Dir"])


def functions(kubernetes):
    """In the order in which upstream runs them."""
    text = (kubernetes / "test/cmd/legacy-script.sh").read_text()
    return list(dict.fromkeys(re.findall(r"^ +record_command (run_\w+)$", text, re.MULTILINE)))


def lay_out(kubernetes, folder):
    """A folder that looks like Kubernetes' own and can be written to."""
    for name in ("api", "cluster", "hack", "third_party", "cmd", "pkg", "staging", "docs"):
        (folder / name).symlink_to(kubernetes / name)
    (folder / "test").mkdir()
    for path in (kubernetes / "test").iterdir():
        if path.name != "fixtures":
            (folder / "test" / path.name).symlink_to(path)
    shutil.copytree(kubernetes / "test/fixtures", folder / "test/fixtures")
    for path in (folder / "test/fixtures").rglob("*"):
        path.chmod(0o755)  # a module's files are not executable, plugins are
    (folder / "bin").mkdir()
    (folder / "bin/kubectl").symlink_to(os.environ.get("KUBECTL", PROGRAMS / "kubectl"))


class Daemon(harness.Daemon):
    """With the token, the Node and the rights that the scripts expect."""

    def __init__(self, kubernetes):
        super().__init__("--node-name", "127.0.0.1", "--client-ca-file", str(kubernetes / "hack/testdata/ca/ca.crt"),
                         start=False)
        path = pathlib.Path(self.data, "token")
        path.write_text("admin-token")
        path.chmod(0o600)
        self.start()
        self.wait_for("/api/v1/nodes", lambda found: found or None)
        self.call("PATCH", "/api/v1/nodes/127.0.0.1", {  # upstream nothing schedules
            "metadata": {"annotations": {"save-managers": "true"}},
            "spec": {"taints": [{"key": "test-cmd", "effect": "NoSchedule"}]}}, content_type="application/merge-patch+json")
        self.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {  # and everybody may do everything
            "metadata": {"name": "always-allow"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "Group", "name": name} for name in ("system:authenticated", "the-group")]})
        for n in range(10):  # of which upstream has more than a page of ten, for the parts of a cluster
            self.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": f"system:test-cmd-{n}"}})


def why(text):
    """The line that says what went wrong, as far as that can be told."""
    lines = [re.sub(r"\x1b(\[[0-9;]*m|\(B)", "", line).strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith("!!!")]
    marks = ("has not:", "has:", "error:", "Error from server", "The ", "Expected", "FAIL:")
    found = [line for line in said[-5:] if line.startswith(marks)]
    return (found or said or ["nothing was said"])[-1][:200]


def main():
    kubernetes = module()
    wanted = sys.argv[1:] or functions(kubernetes)
    counts = {"pass": 0, "fail": 0, "meant": 0}
    logs = ROOT / "build/upstream/test-cmd"
    logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="muster-test-cmd-") as place:
        lay_out(kubernetes, pathlib.Path(place))
        daemon = Daemon(kubernetes)
        pathlib.Path(place, "apiserver.crt").write_text(daemon.authority())
        environment = {"PATH": os.environ["PATH"], "SECURE_API_PORT": str(daemon.port), "TERM": "xterm", "HOME": place,
                       "TMPDIR": place, "GOPATH": place, "KUBE_JUNIT_REPORT_DIR": place}
        try:
            for name in wanted:
                try:
                    done = subprocess.run([ROOT / "tests/upstream/test-cmd.sh", name], cwd=place, env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                          timeout=LIMIT_S, check=False, errors="replace")
                    text, passed = done.stdout, done.returncode == 0
                except subprocess.TimeoutExpired as late:
                    text, passed = (late.stdout or b"").decode(errors="replace") + f"\nFAIL: not done after {LIMIT_S} s", False
                (logs / f"{name}.log").write_text(text)
                how = "pass" if passed else "meant" if name in MEANT else "fail"
                counts[how] += 1
                print(f"{how:6}{name}" + ("" if passed else f": {MEANT.get(name) or why(text)}"), flush=True)
        finally:
            daemon.kill()
    print(f"{counts['pass']} of {len(wanted)} functions passed, {counts['meant']} are not meant to, {counts['fail']} failed; "
          f"what each said is in {logs.relative_to(ROOT)}")
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
