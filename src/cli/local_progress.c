/* local_progress.c - see local_progress.h. */
#include "cli/local_progress.h"

static enum progress_place place_of(void *arg, const char *ns, const char *pod, const char *uid)
{
    const struct agent *agent = arg;

    if (!agent_knows_pods(agent))
        return PROGRESS_UNKNOWN;
    return agent_has_pod(agent, ns, pod, uid) ? PROGRESS_HERE : PROGRESS_ELSEWHERE;
}

struct progress *local_progress_new(struct loop *l, struct transport *t, struct agent *agent,
                                    const char *own_folder)
{
    return progress_new(&(struct progress_options){.loop = l,
                                                   .transport = t,
                                                   .place_of = place_of,
                                                   .arg = agent,
                                                   .pods_are_named = agent_names_pods(agent),
                                                   .own_folder = own_folder});
}
