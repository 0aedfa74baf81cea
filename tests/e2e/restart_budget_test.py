#!/usr/bin/python3
"""backoffLimit 3 and four replicas that fail: exactly three are replaced, whenever the controller is killed."""
import os
import pathlib

import harness
from harness import DaemonTest, job
from write_proxy import WriteProxy

# Four replicas fail. Ranks 1 and 2 at once; the master when both have been replaced, which is the third and last
# restart; rank 3 and all replacements when the master has been replaced. So seven starts are right, and every
# further one would be one too many.
PROGRAM = """
echo $RANK >>"$STARTS"
until_starts() { until [ $(wc -l <"$STARTS") -ge $1 ]; do sleep 0.02; done; }
case $RANK-$(grep -c "^$RANK$" "$STARTS") in
1-1|2-1) exit 7 ;;
0-1) until_starts 6; exit 7 ;;
*) until_starts 7; exit 7 ;;
esac
"""
STARTS, RESTARTS = 7, 3
ENOUGH_WRITES = 1000


class Budget(DaemonTest):
    options = ("--only", "api", "--overcommit")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubeconfig = pathlib.Path(cls.daemon.folder, "kubeconfig")
        cls.daemon.spawn("node", "--kubeconfig", str(cls.kubeconfig), "--dir", cls.daemon.data)
        cls.daemon.wait_for(harness.NODES, lambda nodes: nodes, "a node to appear")

    def setUp(self):
        self.controller = self.proxy = None

    def tearDown(self):
        super().tearDown()  # the garbage collector is in the controller
        self.stop()

    def stop(self):
        if self.proxy:
            self.proxy.close()
        if self.controller and self.controller.poll() is None:
            self.controller.kill()
            self.controller.wait()
        self.controller = self.proxy = None

    def start(self, dies_after):
        """A controller that is killed right behind its dies_after-th write; 0: it is left alone."""
        self.stop()
        self.last_write = None

        seen = 0

        def on_write(_, line):
            nonlocal seen
            if "/leases" in line and "kube-system" in line:  # who leads; a process begins with these
                return False
            seen += 1
            if seen == dies_after:
                self.last_write = line
                controller.kill()
            return dies_after and seen >= dies_after

        self.proxy = WriteProxy(self.daemon.port, on_write)
        kubeconfig = pathlib.Path(self.daemon.folder, "kubeconfig-proxy")
        kubeconfig.write_text(self.kubeconfig.read_text().replace(f":{self.daemon.port}", f":{self.proxy.port}").replace("https:", "http:"))  # it reads what passes
        with self.proxy.lock:  # its writes wait until it can be killed
            controller = self.controller = self.daemon.spawn("controller", "--kubeconfig", str(kubeconfig))

    def create(self, name):
        starts = pathlib.Path(self.daemon.folder, f"starts-{name}")
        what = job(name, ["sh", "-c", PROGRAM], replicas=4, restart="OnFailure",
                   run_policy={"backoffLimit": RESTARTS, "cleanUpPolicy": "None"})
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["env"] = [
            {"name": "STARTS", "value": str(starts)}]
        self.daemon.create(what)
        return starts

    def check(self, name, starts):
        status = self.daemon.wait_phase(name, "Failed")["status"]
        self.assertEqual(status["backoffCount"], RESTARTS)
        self.assertEqual(status["reason"], "BackoffLimitExceeded")
        self.assertEqual(status["tasks"][0]["restartCount"], RESTARTS)
        self.assertEqual(len(self.daemon.pods(name)), 4)
        # Nothing more may come: behind another job's end the controller has looked at this one, too.
        self.daemon.create(job(f"{name}-after", ["true"], replicas=1))
        self.daemon.wait_phase(f"{name}-after", "Succeeded")
        lines = starts.read_text().split()
        self.assertEqual(len(lines), STARTS, (lines, {n: p.get("status") for n, p in self.daemon.pods(name).items()}))
        self.assertEqual(sorted(set(lines)), ["0", "1", "2", "3"])

    def wait_death(self, name):
        """Until the controller is dead or the job over; answers whether it is dead."""
        while self.controller.poll() is None:
            phase = self.daemon.get_job(name).get("status", {}).get("phase")
            if phase == "Failed":
                break
            harness.time.sleep(0.005)  # the end of a process and that of a job have no one event
        return self.controller.poll() is not None

    def test_left_alone(self):
        self.start(0)
        self.check("alone", self.create("alone"))

    def test_killed_behind_each_write_in_turn(self):
        """One job per write: the controller dies behind it, and another goes on."""
        stride = int(os.environ.get("MUSTER_TEST_STRIDE", "1"))
        died = 0
        for n in range(1, ENOUGH_WRITES, stride):
            name = f"turn-{n}"
            self.start(n)
            starts = self.create(name)
            if self.wait_death(name):
                died += 1
                with self.subTest(write=n, line=self.last_write):
                    self.start(0)
                    self.check(name, starts)
                self.remove(name, f"{name}-after")
                continue
            self.start(0)  # the whole life of the job has fewer writes
            self.check(name, starts)
            break
        self.assertGreater(died * stride, 20)

    def test_killed_behind_every_second_write(self):
        """One job, and no controller lives longer than two writes. (With one they would not get on: pods are made
        only behind a write to the status, which fails when the job was looked at in an old cache.)"""
        starts = self.create("every")
        deaths = 0
        while self.daemon.get_job("every").get("status", {}).get("phase") != "Failed":
            self.start(2)
            deaths += self.wait_death("every")
            self.assertLess(deaths, ENOUGH_WRITES, "it does not get on")
        self.start(0)
        self.check("every", starts)
        # Four attempts of at least three writes (status, pod, charge), two to a life; more when events come one by one.
        self.assertGreaterEqual(deaths, 4 * 3 // 2)


if __name__ == "__main__":
    harness.main()
