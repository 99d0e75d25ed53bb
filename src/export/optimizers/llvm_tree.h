// SPDX-License-Identifier: MIT
/*
 * A sample profile of LLVM: functions, how often their lines were executed, what they called, and
 * in them the functions that were inlined into them, with the same.
 */
#ifndef HP_EXPORT_LLVM_TREE_H
#define HP_EXPORT_LLVM_TREE_H

#include "base/map64.h"
#include "base/strings.h"
#include "hotpath/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HP_LLVM_NONE UINT32_MAX

/* A place in a function: lines from its declaration, and which of several pieces of code there. */
struct hp_llvm_location {
    uint32_t line, discriminator;
};

struct hp_llvm_node {
    const char *name;
    uint32_t parent;            /* HP_LLVM_NONE: not inlined */
    struct hp_llvm_location at; /* where it was inlined */
    uint64_t head;              /* entries; of functions that are not inlined */
    uint64_t total;             /* of all its lines, inlined ones included; when it is written */
};

/* How often code at a place ran, or (`target`) called something. */
struct hp_llvm_entry {
    uint32_t node;
    struct hp_llvm_location at;
    const char *target; /* NULL: it ran; else it must last until the tree is written */
    uint64_t instance;  /* of several functions of the same name */
    uint64_t count;
};

/* All zero is an empty tree. */
struct hp_llvm_tree {
    struct hp_llvm_node *nodes;
    size_t n_nodes, nodes_capacity;
    struct hp_llvm_entry *entries;
    size_t n_entries, entries_capacity;
    struct hp_map64 index; /* nodes by a hash of parent, place and name, or behind it */
    struct hp_strings names;
};

/* Whether a name can be in the text: it can have no white space, and not begin like a comment. */
bool hp_llvm_name_fits(const char *name);

/* The function of that name inlined at a place of another (HP_LLVM_NONE: not), made when new. */
enum hp_err hp_llvm_tree_node(struct hp_llvm_tree *tree, uint32_t parent,
                              struct hp_llvm_location at, const char *name, uint32_t *node);

/* Adds an execution. Of code on the same place the most often executed counts; several instances
 * are added up, and so are calls of the same target. */
enum hp_err hp_llvm_tree_add(struct hp_llvm_tree *tree, const struct hp_llvm_entry *entry);

/* Joins, adds up and writes the functions, most samples first. Nothing is added afterwards. */
enum hp_err hp_llvm_tree_write(struct hp_llvm_tree *tree, FILE *out);
void hp_llvm_tree_fini(struct hp_llvm_tree *tree);

#endif
