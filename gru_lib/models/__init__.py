"""What the chapters build from cells and layers. Import from the module: ``gru_lib.models.reader`` and so on."""
