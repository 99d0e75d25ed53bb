# SPDX-License-Identifier: MIT
# Regular expressions, hashes, sorting and string building. Argument: how many rounds.
use strict;
use warnings;

my $rounds = shift // 10;
my $seed = 42;

sub next_random {
    my ($below) = @_;
    $seed = ($seed * 1103515245 + 12345) & 0x7fffffff;
    return ($seed >> 8) % $below;
}

my @syllables = qw(ka lo mi ne ru sa to vi xe zo an be cor dul);
my $sum = 0;
for my $round (1 .. $rounds) {
    my %count;
    my @lines;
    for my $n (1 .. 400) {
        my @words = map { join '', map { $syllables[next_random(14)] } 1 .. 1 + next_random(3) } 1 .. 8;
        push @lines, join(' ', @words) . " key$n=" . next_random(1000);
    }
    for my $line (@lines) {
        $count{$_}++ for $line =~ /\b([a-z]{3,6})\b/g;
        $sum += $2 if $line =~ /^(.*?)\bkey\d+=(\d+)$/;
        (my $copy = $line) =~ s/(k|t|s)a/<$1>/g;
        $sum += length $copy;
    }
    my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    $sum += $count{$order[0]} * @order;
}
print "$sum\n";
