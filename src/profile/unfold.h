// SPDX-License-Identifier: MIT
/* Inlined functions, shown as functions. */
#ifndef HP_PROFILE_UNFOLD_H
#define HP_PROFILE_UNFOLD_H

#include "hotpath/profile.h"

/*
 * In a normal profile, which stays normal:
 * - The instructions of inlined code are `self` of the function that was inlined, and no longer of
 *   the one that has the code. That is counted, not estimated.
 * - A function is entered as often as control came to its first instruction at a place where it was
 *   inlined, from outside it: so many calls by the function that it was inlined into.
 * - What was called from inlined code is called by the function that was inlined. Where a function
 *   calls another from several of its parts, calls are divided as they were counted there, and
 *   their inclusive cost likewise.
 * - Contexts get those of inlined functions between them. A context's `self` is divided among what
 *   was inlined into its function as the function's own is, over all its contexts, and a context
 *   that was called from several parts as the calls are: exact where a function has one context,
 *   an estimate else.
 * - The inclusive count of an inlined function is that of its contexts.
 * Functions that have code of their own in the module, and the same name and source file, are one
 * with their inlined copies. Others get a row, at no real place: HP_PROFILE_INLINED.
 *
 * The sums of `self` of functions and of contexts stay the same in each thread. Blocks, edges,
 * loops, paths and instructions stay with the function that has the code. Takes time linear in the
 * profile and in what contexts there are then, and that of normalizing it.
 */
enum hp_err hp_profile_unfold_inlined(struct hp_profile *profile);

/* Before that, of profiles that are compared: forgets what was inlined in files of whose code the
 * other one knows no source lines, and so not what was inlined. Files are matched by their names
 * without directories; those that only one of both has (prog-1.0, prog-1.1) with each other. */
enum hp_err hp_profile_forget_inlined(struct hp_profile *profile, const struct hp_profile *other);

/* The function of each inlined range then (malloc'ed): HP_PROFILE_NONE: there is none, as nothing
 * was unfolded. */
enum hp_err hp_profile_inlined_functions(const struct hp_profile *profile, uint32_t **functions);

#endif
