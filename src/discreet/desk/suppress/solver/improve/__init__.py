"""What makes a safe pattern cheaper: the kernels of annealing and of publishing again."""
