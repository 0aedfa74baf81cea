// What the user may do, so that what would be refused is not offered. Until it is known, and where
// a server cannot say all of it, everything is offered: the server decides in any case.
import { signal } from "@preact/signals";
import { create } from "./api.ts";
import { signedOut } from "./key.ts";

interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}
interface Review {
  status?: { incomplete?: boolean; resourceRules?: Rule[] };
}

/** By namespace; null: asked for, not known. */
const known = signal<ReadonlyMap<string, Rule[] | null>>(new Map());
signedOut.subscribe((out) => {
  if (out) known.value = new Map();
});

function learn(ns: string, rules: Rule[] | null): void {
  known.value = new Map([...known.peek(), [ns, rules]]);
}

async function ask(ns: string): Promise<void> {
  try {
    const review = await create<Review>("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace: ns },
    });
    if (!review.status?.incomplete) learn(ns, review.status?.resourceRules ?? []);
  } catch {
    /* then everything stays offered */
  }
}

export function allows(rules: Rule[], verb: string, group: string, resource: string): boolean {
  const among = (list: string[] | undefined, value: string): boolean =>
    !!list && (list.includes("*") || list.includes(value));
  return rules.some(
    (one) =>
      among(one.verbs, verb) && among(one.apiGroups, group) && among(one.resources, resource),
  );
}

export function may(verb: string, of: { group: string; plural: string }, ns: string): boolean {
  const rules = known.value.get(ns);
  if (rules === undefined) {
    // Not while something is being drawn.
    queueMicrotask(() => {
      if (known.peek().has(ns)) return;
      learn(ns, null);
      void ask(ns);
    });
  }
  return !rules || allows(rules, verb, of.group, of.plural);
}
