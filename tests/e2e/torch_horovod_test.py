#!/usr/bin/python3
"""examples/horovod trains for real: mpirun over two workers, gradients averaged by Horovod, no ssh."""
import harness
from torch_runs import VENV, TorchTest


class Horovod(TorchTest):
    def test_two_workers_train_one_model(self):
        self.assertTrue(list(VENV.parent.glob("lib/python3*/site-packages/horovod/torch")), "tools/setup.sh test builds it")
        path = self.example("horovod")
        manifest = self.edit(path / "job.yaml", '--epochs, "2"', '--epochs, "1", --limit, "30000"')
        output = self.run_job(manifest)
        self.check_accuracy(output, 0.80)
        self.assertRegex(output, r"launcher-0 .*services are ready!")
        self.assertRegex(output, r"launcher-0 .*training on 30000 images with 2 processes")
        self.assertTrue(list(path.glob("out/log/events.out.tfevents.*")), "the first process writes curves")
        self.remove("horovod")


if __name__ == "__main__":
    harness.main()
