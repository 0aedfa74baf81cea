#!/usr/bin/python3
"""Certificates of clients: CertificateSigningRequests, kubectl certificate approve and deny, and who one is by what was
signed."""
import base64
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SIGNER = "kubernetes.io/kube-apiserver-client"


def openssl(*words, folder):
    subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)


class Clients(StockKubectl):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(dir=self.home)

    def tearDown(self):
        self.kubectl("delete", "csr", "--all")
        super().tearDown()

    def request(self, name, subject, signer=SIGNER, usages=("client auth",), **spec):
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-subj", subject, "-out", f"{name}.csr", folder=self.folder)
        return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
                "spec": {"request": base64.b64encode(pathlib.Path(self.folder, f"{name}.csr").read_bytes()).decode(),
                         "signerName": signer, "usages": list(usages), **spec}}

    def create(self, *arguments, **spec):
        return self.kubectl("create", "-f", "-", stdin=json.dumps(self.request(*arguments, **spec)))

    def certificate(self, name):
        """Its file, once it is signed."""
        text = self.kubectl("get", "csr", name, "-o", "jsonpath={.status.certificate}").stdout
        path = pathlib.Path(self.folder, f"{name}.pem")
        path.write_bytes(base64.b64decode(text))
        return str(path)

    def as_client(self, certificate, key, *words, **how):
        kubeconfig = os.path.join(self.folder, "kubeconfig")
        pathlib.Path(kubeconfig).write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.daemon.port}",
                                                   "certificate-authority-data": base64.b64encode(
                                                       self.daemon.authority().encode()).decode()}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"client-certificate": certificate, "client-key": key}}]}))
        return self.kubectl("--kubeconfig", kubeconfig, *words, **how)

    def ask(self, certificate, key, path, **headers):
        context = self.daemon.tls_context()
        context.load_cert_chain(certificate, key)
        connection = http.client.HTTPSConnection("127.0.0.1", self.daemon.port, context=context, timeout=harness.PATIENCE)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class Certificates(Clients):
    def test_approved_and_used(self):
        self.create("jane", "/CN=jane/O=dev/O=ml")
        self.assertRegex(self.kubectl("get", "csr").stdout, rf"jane +\S+ +{SIGNER} +muster:admin +<none> +Pending")
        self.kubectl("certificate", "approve", "jane")
        self.assertRegex(self.kubectl("get", "csr", "jane").stdout, "Approved,Issued")
        certificate, key = self.certificate("jane"), os.path.join(self.folder, "jane.key")
        done = self.as_client(certificate, key, "get", "pods", code=1)
        self.assertIn('User "jane" cannot list resource "pods"', done.stderr)
        self.kubectl("create", "rolebinding", "ml", "--clusterrole=view", "--group=ml")
        self.addCleanup(self.kubectl, "delete", "rolebinding", "ml")
        self.as_client(certificate, key, "get", "pods")
        self.assertIn('cannot list resource "nodes"', self.as_client(certificate, key, "get", "nodes", code=1).stderr)
        # A browser presents it by itself: a page elsewhere must not use it.
        self.assertEqual(self.ask(certificate, key, "/api/v1/namespaces/default/pods")[0], 200)
        for site in ("cross-site", "same-site"):
            self.assertEqual(self.ask(certificate, key, "/api/v1/namespaces/default/pods", **{"Sec-Fetch-Site": site})[0], 401)

    def test_denied(self):
        self.create("joe", "/CN=joe")
        self.kubectl("certificate", "deny", "joe")
        self.assertRegex(self.kubectl("get", "csr", "joe").stdout, "Denied")
        done = self.kubectl("certificate", "approve", "joe", code=1)
        self.assertRegex(done.stderr, "mutually exclusive|already Denied")
        found = self.daemon.call("GET", f"{REQUESTS}/joe")
        found["status"]["conditions"] = [{"type": "Approved", "status": "True", "reason": "x"}]
        answer = self.daemon.call("PUT", f"{REQUESTS}/joe/approval", found, expect=(422,))
        self.assertIn("may not be removed", answer["message"])
        self.assertEqual(self.kubectl("get", "csr", "joe", "-o", "jsonpath={.status.certificate}").stdout, "")

    def test_it_says_who_asked_and_stays_so(self):
        request = self.request("who", "/CN=who", username="system:admin", groups=["system:masters"])
        made = self.daemon.call("POST", REQUESTS, request)
        self.assertEqual((made["spec"]["username"], made["spec"]["groups"]),
                         ("muster:admin", ["system:masters", "system:authenticated"]))
        made["spec"]["username"] = "other"
        self.assertEqual(self.daemon.call("PUT", f"{REQUESTS}/who", made)["spec"]["username"], "muster:admin")
        made = self.daemon.call("GET", f"{REQUESTS}/who")
        made["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
        self.assertNotIn("Approved", json.dumps(self.daemon.call("PUT", f"{REQUESTS}/who/status", made).get("status", {})))

    def test_who_may_approve(self):
        """The subresource, and the signer: one without the other is not enough."""
        self.create("jim", "/CN=jim")
        for name, rule in (("half", ("--verb=get,update,patch", "--resource=certificatesigningrequests/approval,certificatesigningrequests")),
                           ("signer", ("--verb=approve", "--resource=signers.certificates.k8s.io", f"--resource-name={SIGNER}"))):
            self.daemon.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
                "metadata": {"name": name}, "rules": [{
                    "apiGroups": ["certificates.k8s.io"], "verbs": rule[0].split("=")[1].split(","),
                    "resources": [r.split(".")[0] for r in rule[1].split("=")[1].split(",")],
                    **({"resourceNames": [SIGNER]} if name == "signer" else {})}]})
            self.addCleanup(self.kubectl, "delete", "clusterrole", name)
            self.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", "--user=approver")
            self.addCleanup(self.kubectl, "delete", "clusterrolebinding", name)
            done = self.kubectl("certificate", "approve", "jim", "--as", "approver", code=0 if name == "signer" else 1)
            if name == "half":
                self.assertIn('cannot approve resource "signers"', done.stderr)

    def test_what_is_refused(self):
        def refused(words, **how):
            request = self.request("bad", how.pop("subject", "/CN=bad"), **how)
            self.assertIn(words, self.kubectl("create", "-f", "-", stdin=json.dumps(request), code=1).stderr)
        refused("system:masters group is not allowed", subject="/CN=a/O=system:masters")
        refused("has no common name", subject="/O=a")
        for subject in ("/CN=boss/CN=jane", "/CN=boss+CN=jane"):  # kubectl describe shows the last
            refused("several common names", subject=subject)
        refused("more than 16 organizations", subject="/CN=a" + "".join(f"/O=g{i}" for i in range(17)))
        refused("this signer wants", usages=["server auth"])
        refused("must be greater than or equal to 600", expirationSeconds=60)
        request = self.request("bad", "/CN=a")
        request["spec"]["request"] = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\nx\n").decode()
        self.assertIn("not a request for a certificate", self.kubectl("create", "-f", "-", stdin=json.dumps(request), code=1).stderr)

    def test_another_signer_is_left_alone(self):
        self.create("other", "/CN=other", signer="example.com/own", usages=("server auth",))
        self.kubectl("certificate", "approve", "other")
        self.assertEqual(self.kubectl("get", "csr", "other", "-o", "jsonpath={.status.certificate}").stdout, "")

    def test_its_end(self):
        self.create("short", "/CN=short", expirationSeconds=3600)
        self.kubectl("certificate", "approve", "short")
        text = subprocess.run(["openssl", "x509", "-in", self.certificate("short"), "-noout", "-dates", "-ext",
                               "extendedKeyUsage,basicConstraints", "-checkend", "3700"], capture_output=True, text=True, check=False)
        self.assertIn("will expire", text.stdout)
        self.assertIn("TLS Web Client Authentication", text.stdout)
        self.assertIn("CA:FALSE", text.stdout)


class Certificates120(Certificates, harness.WithDaemon):
    version = "1.20"


class Certificates132(Certificates, harness.WithDaemon):
    version = "1.32"


class OtherAuthority(Clients, harness.WithDaemon):
    """muster up --client-ca-file: certificates of somebody else's authority; others, and expired ones, are nobody's."""

    version = "1.32"

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="muster-ca-")
        for name in ("ours", "theirs"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out",
                    f"{name}.pem", "-subj", f"/CN={name}", "-days", "30", folder=cls.place)
        cls.options = ("--client-ca-file", os.path.join(cls.place, "ours.pem"))
        super().setUpClass()

    def signed(self, by, *options, purpose="clientAuth", subject="/CN=carol/O=dev"):
        pathlib.Path(self.place, "ext").write_text(f"extendedKeyUsage={purpose}\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "c.key", "-subj",
                subject, "-out", "c.csr", folder=self.place)
        openssl("x509", "-req", "-in", "c.csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-out", "c.pem",
                "-extfile", "ext", *(options or ("-days", "5")), folder=self.place)
        return self.ask(os.path.join(self.place, "c.pem"), os.path.join(self.place, "c.key"), "/api/v1/pods")

    def test_whose_it_is(self):
        status, body = self.signed("ours")
        self.assertEqual(status, 403)
        self.assertIn(b'User \\"carol\\" cannot list', body)
        self.assertEqual(self.signed("theirs")[0], 401)
        self.assertEqual(self.signed("ours", purpose="serverAuth")[0], 401)
        self.assertEqual(self.signed("ours", "-days", "-1")[0], 401)
        self.assertEqual(self.signed("ours", subject="/CN=carol/CN=boss")[0], 401)


if __name__ == "__main__":
    harness.main()
