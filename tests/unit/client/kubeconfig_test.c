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
    assert_true(c.insecure);
    assert_null(c.ca_pem);
    assert_null(c.cert_pem);
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
    assert_string_equal(c.ca_pem, "CA");
    assert_string_equal(c.cert_pem, "CERT");
    assert_string_equal(c.key_pem, "KEY");
    assert_false(c.insecure);
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
    assert_int_equal(kubeconfig_load(&a, config, &c, &err), 0);
    assert_string_equal(c.ca_pem, "PEM");
    assert_string_equal(c.token, "t0ken");
    unlink(ca);
    assert_true(kubeconfig_load(&a, config, &c, &err) < 0);
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
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user:\n    exec: {command: gke}\n",
         "/etc/kube/config:17: users that log in with exec are not supported"},
        {HEAD CONTEXT CLUSTER "users:\n- name: u\n  user: {client-certificate-data: QQ==}\n",
         "/etc/kube/config:16: client-certificate and client-key come together"},
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
        cmocka_unit_test(what_we_write_we_read),
    };

    return cmocka_run_group_tests_name("client/kubeconfig", tests, NULL, NULL);
}
