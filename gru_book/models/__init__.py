"""What the chapters build from cells and layers. Import from the module: ``gru_book.models.reader`` and so on."""
