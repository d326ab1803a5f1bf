"""What cells and layers are made of: parameters, argument checks, sequence rules, memory, products, the loop."""
