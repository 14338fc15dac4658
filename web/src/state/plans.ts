/** The agent's plans in a thread or a turn, by the agent's ids. */

import type { Plan, PlanEntry } from "@acpd/client";

/** What has plans. Absent for none. */
export interface Planned {
  readonly plans?: readonly Plan[] | null | undefined;
}

/** A thread or turn of the daemon. It has no `plans` if `plan` is the only one, and has no id. */
interface Answered {
  readonly plan?: PlanEntry[] | null | undefined;
  readonly plans?: readonly Plan[] | null | undefined;
}

/** Returns the plans of a thread or turn of the daemon. */
export function plansOf({ plan, plans }: Answered): Planned {
  if (plans != null) return plans.length > 0 ? { plans } : {};
  return plan == null ? {} : { plans: [{ entries: plan }] };
}

/** Adds a plan, or replaces the one with its id, which keeps its place. */
export function withPlan<T extends Planned>(planned: T, { entries, planId, form, markdown, path }: Plan): T {
  const plan: Plan = {
    entries,
    ...(planId != null && { planId }),
    ...(form != null && { form }),
    ...(markdown != null && { markdown }),
    ...(path != null && { path }),
  };
  const plans = planned.plans ?? [];
  const at = plans.findIndex((known) => idOf(known) === idOf(plan));
  return { ...planned, plans: at < 0 ? [...plans, plan] : plans.with(at, plan) };
}

/** Removes the plan with this id. */
export function withoutPlan<T extends Planned>(planned: T, planId: string | null | undefined): T {
  const plans = planned.plans ?? [];
  const left = plans.filter((plan) => idOf(plan) !== (planId ?? ""));
  if (left.length === plans.length) return planned;
  return left.length > 0 ? { ...planned, plans: left } : withoutPlans(planned);
}

/** Removes all plans. */
export function withoutPlans<T extends Planned>(planned: T): T {
  const { plans: _, ...rest } = planned;
  return rest as T;
}

/** Returns the agent's id for a plan; empty for the plan without an id. */
export function idOf({ planId }: Plan): string {
  return planId ?? "";
}

/** Returns whether a plan has anything to show. */
export function hasContent({ entries, markdown, path }: Plan): boolean {
  return entries.length > 0 || (markdown ?? "").trim() !== "" || path != null;
}
