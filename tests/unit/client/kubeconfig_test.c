/* kubeconfig_test.c - reading kubectl's file, saying where it is wrong, writing ours. */
#include "client/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop/file.h"

#define HEAD "apiVersion: v1\nkind: Config\n"
#define CONTEXT                                                                                    \
    "current-context: c\n"                                                                         \
    "contexts:\n"                                                                                  \
    "- name: other\n"                                                                              \
    "  context: {cluster: nowhere, user: nobody}\n"                                                \
    "- name: c\n"                                                                                  \
    "  context:\n"                                                                                 \
    "    cluster: k\n"                                                                             \
    "    user: u\n"

static int parse(struct arena *a, const char *text, struct client_config *ret, struct err *err)
{
    return kubeconfig_parse(a, "/etc/kube/config", text, strlen(text), ret, err);
}

static void reads_server_token_and_namespace(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct client_config c;
    auto_err err = ERR_INIT;
    static const char text[] = HEAD CONTEXT "    namespace: team\n"
                                            "clusters:\n"
                                            "- name: k\n"
                                            "  cluster:\n"
                                            "    server: https://10.0.0.1:6443/\n"
                                            "    insecure-skip-tls-verify: true\n"
                                            "users:\n"
                                            "- name: u\n"
                                            "  user:\n"
                                            "    token: s3cret\n";

    (void)state;
    assert_int_equal(parse(&a, text, &c, &err), 0);
    assert_string_equal(c.server, "https://10.0.0.1:6443");
    assert_string_equal(c.token, "s3cret");
    assert_string_equal(c.ns, "team");
    assert_true(c.reach.insecure);
    assert_null(c.reach.ca_pem);
    assert_null(c.reach.cert_pem);
    arena_release(&a);
}

static void reads_certificates_given_as_data(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct client_config c;
    auto_err err = ERR_INIT;
    static const char text[] = HEAD CONTEXT "clusters:\n"
                                            "- name: k\n"
                                            "  cluster:\n"
                                            "    server: https://h\n"
                                            "    certificate-authority-data: Q0E=\n"
                                            "users:\n"
                                            "- name: u\n"
                                            "  user: {client-certificate-data: Q0VSVA==, "
                                            "client-key-data: S0VZ}\n";

    (void)state;
    assert_int_equal(parse(&a, text, &c, &err), 0);
    assert_string_equal(c.reach.ca_pem, "CA");
    assert_string_equal(c.reach.cert_pem, "CERT");
    assert_string_equal(c.reach.key_pem, "KEY");
    assert_false(c.reach.insecure);
    arena_release(&a);
}

static void reads_files_beside_it(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct client_config c;
    auto_err err = ERR_INIT;
    char dir[] = "/tmp/kubeconfig-test-XXXXXX";
    static const char text[] = HEAD CONTEXT "clusters:\n"
                                            "- name: k\n"
                                            "  cluster: {server: 'http://h', "
                                            "certificate-authority: ca.pem}\n"
                                            "users:\n"
                                            "- name: u\n"
                                            "  user: {tokenFile: token}\n";
    char *config, *ca, *token;

    (void)state;
    assert_non_null(mkdtemp(dir));
    config = arena_printf(&a, "%s/config", dir);
    ca = arena_printf(&a, "%s/ca.pem", dir);
    token = arena_printf(&a, "%s/token", dir);
    assert_int_equal(file_write_atomic(config, text, strlen(text), 0600), 0);
    assert_int_equal(file_write_atomic(ca, "PEM", 3, 0600), 0);
    assert_int_equal(file_write_atomic(token, "t0ken\n", 6, 0600), 0);
    assert_int_equal(kubeconfig_load(&a, config, NULL, &c, &err), 0);
    assert_string_equal(c.reach.ca_pem, "PEM");
    assert_string_equal(c.token, "t0ken");
    unlink(ca);
    assert_true(kubeconfig_load(&a, config, NULL, &c, &err) < 0);
    assert_non_null(strstr(err.text, "config:13: "));
    assert_non_null(strstr(err.text, "ca.pem cannot be read"));
    unlink(token);
    unlink(config);
    rmdir(dir);
    arena_release(&a);
}

static void password_in_the_address_is_taken_out(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct client_config c;
    auto_err err = ERR_INIT;
    static const char text[] = HEAD CONTEXT "clusters:\n"
                                            "- name: k\n"
                                            "  cluster: {server: 'http://me:p%40ss@h:80/'}\n"
                                            "users:\n"
                                            "- name: u\n"
                                            "  user: {}\n";

    (void)state;
    assert_int_equal(parse(&a, text, &c, &err), 0);
    assert_string_equal(c.server, "http://h:80");
    assert_string_equal(c.username, "me");
    assert_string_equal(c.password, "p@ss");
    arena_release(&a);
}

#define CLUSTER "clusters:\n- name: k\n  cluster: {server: 'http://h'}\n"

static void mistakes_are_told_with_file_and_line(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"kind: List\n", "/etc/kube/config:1: this is not a kubeconfig"},
        {"", "/etc/kube/config: this is not a kubeconfig"},
        {HEAD "current-context: x\ncontexts: []\n",
         "/etc/kube/config:3: context \"x\" is not in the file"},
        {HEAD "contexts: []\n", "/etc/kube/config:1: current-context is not set"},
        {HEAD CONTEXT, "/etc/kube/config:9: cluster \"k\" is not in the file"},
        {HEAD CONTEXT CLUSTER, "/etc/kube/config:10: user \"u\" is not in the file"},
        {HEAD CONTEXT "clusters:\n- name: k\n  cluster: {server: 'h:80'}\n"
                      "users:\n- name: u\n  user: {}\n",
         "/etc/kube/config:13: server must begin with http:// or https://"},
        {HEAD CONTEXT "clusters:\n- name: k\n  cluster: {server: 'https://'}\n"
                      "users:\n- name: u\n  user: {}\n",
         "/etc/kube/config:13: server names no host"},
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user:\n    exec: {command: gke}\n",
         "/etc/kube/config:17: exec.apiVersion must be client.authentication.k8s.io/v1 or v1beta1"},
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user:\n    exec: {apiVersion: "
                              "client.authentication.k8s.io/v1, command: gke}\n",
         "/etc/kube/config:17: exec.interactiveMode must be Never, IfAvailable or Always"},
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user:\n    auth-provider: {name: gcp}\n",
         "/etc/kube/config:17: auth-provider is not supported"},
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user:\n    token: t\n    as: admin\n",
         "/etc/kube/config:18: as is not supported"},
        {HEAD CONTEXT
         "clusters:\n- name: k\n  cluster: {server: 'https://h', proxy-url: 'ftp://p'}\n"
         "users:\n- name: u\n  user: {}\n",
         "/etc/kube/config:13: proxy-url must begin with http://, https:// or socks5://"},
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user: {client-certificate-data: QQ==}\n",
         "/etc/kube/config:16: client-certificate and client-key must both be set"},
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user:\n    client-key-data: '*'\n",
         "/etc/kube/config:17: client-key-data is not base64"},
        {"kind: [\n", "/etc/kube/config: "},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct arena a = ARENA_INIT(1 << 20);
        struct client_config c = {.server = "untouched"};
        auto_err err = ERR_INIT;

        assert_true(parse(&a, cases[i].text, &c, &err) < 0);
        if (!strstr(err.text, cases[i].wanted))
            fail_msg("wanted \"%s\", got \"%s\"", cases[i].wanted, err.text);
        assert_string_equal(c.server, "untouched");
        arena_release(&a);
    }
}

/* The certificate's name is in the address, and where it is beside it. */
static void proxy_and_server_name(void **state)
{
    static const struct {
        const char *server, *address, *to;
    } cases[] = {{"https://10.0.0.1:6443/k8s/", "https://api.example:6443/k8s", "10.0.0.1:6443"},
                 {"https://[::1]:6443", "https://api.example:6443", "[::1]:6443"},
                 {"https://10.0.0.1", "https://api.example:443", "10.0.0.1:443"}};

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct arena a = ARENA_INIT(1 << 20);
        struct client_config c;
        auto_err err = ERR_INIT;
        const char *text = arena_printf(&a,
                                        HEAD CONTEXT "clusters:\n- name: k\n  cluster:\n"
                                                     "    server: %s\n"
                                                     "    tls-server-name: api.example\n"
                                                     "    proxy-url: http://proxy:3128\n"
                                                     "users:\n- name: u\n  user: {}\n",
                                        cases[i].server);

        assert_int_equal(parse(&a, text, &c, &err), 0);
        assert_string_equal(c.server, cases[i].address);
        assert_string_equal(c.reach.connect_to, cases[i].to);
        assert_string_equal(c.reach.proxy, "http://proxy:3128");
        arena_release(&a);
    }
}

/* Of several files the first that has something counts, and a missing one is not missed. */
static void several_files_and_a_chosen_context(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct client_config c;
    auto_err err = ERR_INIT;
    char dir[] = "/tmp/kubeconfig-test-XXXXXX";
    static const char first[] = HEAD CONTEXT "clusters:\n- name: nowhere\n"
                                             "  cluster: {server: 'https://first'}\n";
    static const char second[] = HEAD "current-context: x\nclusters:\n"
                                      "- {name: k, cluster: {server: 'https://k'}}\n"
                                      "- {name: nowhere, cluster: {server: 'https://second'}}\n"
                                      "users:\n- {name: u, user: {token: t}}\n"
                                      "- {name: nobody, user: {tokenFile: beside}}\n";
    const char *one, *two, *token, *both;

    (void)state;
    assert_non_null(mkdtemp(dir));
    one = arena_printf(&a, "%s/one", dir);
    two = arena_printf(&a, "%s/two", dir);
    token = arena_printf(&a, "%s/beside", dir);
    both = arena_printf(&a, "%s/none:%s:%s", dir, one, two);
    assert_int_equal(file_write_atomic(one, first, strlen(first), 0600), 0);
    assert_int_equal(file_write_atomic(two, second, strlen(second), 0600), 0);
    assert_int_equal(file_write_atomic(token, "of-nobody", 9, 0600), 0);
    assert_int_equal(kubeconfig_load(&a, both, NULL, &c, &err), 0);
    assert_string_equal(c.server, "https://k");
    assert_int_equal(kubeconfig_load(&a, both, "other", &c, &err), 0);
    assert_string_equal(c.server, "https://first");
    assert_string_equal(c.token, "of-nobody");
    assert_true(kubeconfig_load(&a, both, "x", &c, &err) < 0);
    assert_non_null(strstr(err.text, "context \"x\" is not in the file"));
    unlink(one);
    unlink(two);
    unlink(token);
    rmdir(dir);
    arena_release(&a);
}

#define PLUGIN(script)                                                                             \
    HEAD CONTEXT "clusters:\n- name: k\n  cluster: {server: 'https://10.0.0.1', "                  \
                 "certificate-authority-data: Q0E=}\n"                                             \
                 "users:\n- name: u\n  user:\n    exec:\n"                                         \
                 "      apiVersion: client.authentication.k8s.io/v1beta1\n"                        \
                 "      command: sh\n"                                                             \
                 "      args: [-c, '" script "']\n"                                                \
                 "      env: [{name: EXTRA, value: more}]\n"                                       \
                 "      installHint: apt install it\n"                                             \
                 "      provideClusterInfo: true\n"
#define SAYS(status)                                                                               \
    "echo \"{\\\"apiVersion\\\":\\\"client.authentication.k8s.io/v1beta1\\\",\\\"kind\\\":"        \
    "\\\"ExecCredential\\\",\\\"status\\\":{" status "}}\""

static void plugins_are_run(void **state)
{
    static const struct {
        const char *text, *token, *problem;
    } cases[] = {
        {PLUGIN(SAYS("\\\"token\\\":\\\"$EXTRA\\\",\\\"expirationTimestamp\\\":"
                     "\\\"2030-01-01T00:00:00Z\\\"")),
         "more", NULL},
        {PLUGIN("echo $KUBERNETES_EXEC_INFO | grep -q server.:.https://10.0.0.1..*Q0E= "
                "&& " SAYS("\\\"token\\\":\\\"told\\\"")),
         "told", NULL},
        {PLUGIN("exit 3"), NULL, "failed with exit code 3"},
        {PLUGIN("echo hello"), NULL, "it is not an ExecCredential in JSON"},
        {PLUGIN(SAYS("")), NULL, "status has neither token nor clientCertificateData"},
        {PLUGIN(SAYS("\\\"clientCertificateData\\\":\\\"c\\\"")), NULL,
         "clientCertificateData and clientKeyData must both be set"},
        {PLUGIN(SAYS("\\\"token\\\":\\\"t\\\",\\\"expirationTimestamp\\\":\\\"later\\\"")), NULL,
         "status.expirationTimestamp is not a time"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMS(cases); i++) {
        struct arena a = ARENA_INIT(1 << 20);
        struct client_config c = {0};
        auto_err err = ERR_INIT;

        assert_int_equal(parse(&a, cases[i].text, &c, &err), 0);
        assert_non_null(c.plugin);
        assert_int_equal(client_config_login(&a, &c, -1, &err) == 0, cases[i].token != NULL);
        if (cases[i].token)
            assert_string_equal(c.token, cases[i].token);
        else if (!strstr(err.text, cases[i].problem))
            fail_msg("wanted \"%s\", got \"%s\"", cases[i].problem, err.text);
        if (i == 0)
            assert_int_equal(c.expires_ms, 1893456000000);
        arena_release(&a);
    }
}

static void plugin_that_is_not_there(void **state)
{
    static const char *const argv[] = {"/nonexistent/plugin", NULL}, *const none[] = {NULL};
    const struct exec_plugin p = {
        .argv = argv, .env = none, .info = "{}", .install_hint = "apt install it"};
    struct arena a = ARENA_INIT(1 << 20);
    struct credential c;
    auto_err err = ERR_INIT;

    (void)state;
    assert_true(exec_plugin_run(&a, &p, -1, &c, &err) < 0);
    assert_non_null(strstr(err.text, "login plugin /nonexistent/plugin cannot be run: No such "
                                     "file"));
    assert_string_equal(err.hint, "apt install it");
    arena_release(&a);
}

static void what_we_write_we_read(void **state)
{
    struct arena a = ARENA_INIT(1 << 20);
    struct buf text = BUF_INIT(1 << 20);
    struct client_config c;
    auto_err err = ERR_INIT;

    (void)state;
    kubeconfig_write(&text, &(struct client_config){.server = "http://127.0.0.1:7447",
                                                    .token = "0123",
                                                    .ns = "default"});
    assert_false(text.failed);
    if (parse(&a, text.data, &c, &err) < 0)
        fail_msg("%s\n%s", err.text, text.data);
    assert_string_equal(c.server, "http://127.0.0.1:7447");
    assert_string_equal(c.token, "0123");
    assert_string_equal(c.ns, "default");
    buf_release(&text);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_server_token_and_namespace),
        cmocka_unit_test(reads_certificates_given_as_data),
        cmocka_unit_test(reads_files_beside_it),
        cmocka_unit_test(password_in_the_address_is_taken_out),
        cmocka_unit_test(mistakes_are_told_with_file_and_line),
        cmocka_unit_test(proxy_and_server_name),
        cmocka_unit_test(several_files_and_a_chosen_context),
        cmocka_unit_test(plugins_are_run),
        cmocka_unit_test(plugin_that_is_not_there),
        cmocka_unit_test(what_we_write_we_read),
    };

    return cmocka_run_group_tests_name("client/kubeconfig", tests, NULL, NULL);
}
