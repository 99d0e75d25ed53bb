// SPDX-License-Identifier: MIT
/* Stubs of the procedure linkage table, folded into what they call. */
#ifndef HP_PROFILE_FOLD_H
#define HP_PROFILE_FOLD_H

#include "hotpath/profile.h"

/*
 * A stub "strcmp@plt" only jumps to the function that it stands for, its target: the one that it
 * led to most often. In a normal profile, which stays normal:
 * - The stub's instructions are the target's, with its blocks and lines.
 * - A call of the stub is a call of what it led to; where that were several functions, calls are
 *   divided as the stub's own were.
 * - The stub's context becomes one of the target, and what was called from it moves to the caller.
 * - The dynamic linker's resolver, where a stub ran it, is called by the target: it is inclusive
 *   cost of that call, and does not call the target any more.
 * The sum of `self` stays the same in each thread, and so does the inclusive count of whatever
 * calls a stub. That of a target is what it and its stubs had, at most what its callers, or the
 * thread, have; in recursion through a stub it is an upper bound. A stub that never led anywhere
 * stays. Its row stays in `functions`, for what is at its place, but nothing refers to it. Takes
 * time linear in the profile, and that of normalizing it.
 */
enum hp_err hp_profile_fold_stubs(struct hp_profile *profile);

#endif
